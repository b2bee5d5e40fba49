import { certificatesIn } from './key-store.ts'
import type { TlsStores } from './tls-stores.ts'

/** When the certificates of a server expire, in epoch milliseconds. Missing certificates are left out. */
export interface CertificateEnds {
  /** The server certificate. */
  readonly server?: number
  /** The client certificate. */
  readonly client?: number
  /** The trusted authority (as a client) that expires first. */
  readonly authority?: number
}

/** Returns when the certificates of these stores expire. For a chain, that is the expiry of its first certificate. */
export function certificateEnds({ server, client }: TlsStores): CertificateEnds {
  const endsOf = (pem: unknown) =>
    certificatesIn([pem].flat().join('\n')).map(({ validToDate }) => validToDate.getTime())
  const [serverEnd] = endsOf(server?.identity.cert)
  const [clientEnd] = endsOf(client.cert)
  const authorityEnds = endsOf(client.ca)
  return {
    ...(serverEnd === undefined ? {} : { server: serverEnd }),
    ...(clientEnd === undefined ? {} : { client: clientEnd }),
    ...(authorityEnds.length === 0 ? {} : { authority: Math.min(...authorityEnds) }),
  }
}
