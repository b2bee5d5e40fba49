/** `https://10.0.0.1:8083`, or `https://[::1]:8083` for an IPv6 address. */
const baseUrlPattern = /^https?:\/\/(?:\[(?<address>[^\]]+)\]|(?<host>[^/:]+)):(?<port>\d+)(?:\/|$)/

/**
 * Returns the name of the server at a base URL: its host and port as it announces them, so an IPv6 address has no
 * brackets. Returns undefined if the URL has no port.
 */
export function serverNameAt(url: string): string | undefined {
  const { address, host = address, port } = baseUrlPattern.exec(url)?.groups ?? {}
  return port === undefined ? undefined : `${host}:${port}`
}
