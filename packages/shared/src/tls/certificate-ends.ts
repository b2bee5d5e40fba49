import { certificatesIn } from './key-store.ts'
import type { TlsStores } from './tls-stores.ts'

/** When the certificates of a server run out, in epoch milliseconds; what it does not have is left out. */
export interface CertificateEnds {
  /** Its own. */
  readonly server?: number
  /** The one that it shows as a client. */
  readonly client?: number
  /** The first to run out of the authorities that it trusts as a client. */
  readonly authority?: number
}

/** When the certificates of these stores run out; of a chain its first counts. */
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
