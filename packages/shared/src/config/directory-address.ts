/** Where an LDAP directory is. */
export interface DirectoryAddress {
  readonly isTls: boolean
  /** As in the URL: an IPv6 address is in brackets. */
  readonly host: string
  readonly port: number
  /** What follows the port; svc supports only an empty path. */
  readonly path: string
}

/** Returns the address in the URL of a directory; undefined if it is not an LDAP URL, or if it contains credentials. */
export function directoryAddress(url: string | undefined): DirectoryAddress | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  if (!/^ldaps?:$/.test(protocol) || hostname === '' || username !== '' || password !== '') return undefined
  const isTls = protocol === 'ldaps:'
  return { isTls, host: hostname, port: Number(port) || (isTls ? 636 : 389), path: pathname }
}
