import type { SecureVersion } from 'node:tls'

/** The minimum TLS version of all connections, unless the settings require a newer one. */
export const minTlsVersion = 'TLSv1.2' satisfies SecureVersion

/** The newest TLS version that a server accepts. */
export const maxTlsVersion = 'TLSv1.3' satisfies SecureVersion

/** The values of the properties for a minimum TLS version; `TLS` means `minTlsVersion`. */
export const tlsProtocols = ['TLS', minTlsVersion, maxTlsVersion] as const

/** Returns the minimum TLS version for a protocol in the settings. */
export const minTlsVersionOf = (protocol: (typeof tlsProtocols)[number]): SecureVersion =>
  protocol === 'TLS' ? minTlsVersion : protocol
