import { dayMs } from '@svc/domain/time'

/** How long before the end a certificate is about to expire. The same as in the alerts of the monitoring. */
export const certificateNoticeMs = 14 * dayMs

/** A certificate, as text. */
export interface CertificateText {
  readonly subject: string
  readonly issuer: string
  readonly names: string
  readonly validFrom: string
  readonly validTo: string
  readonly fingerprint: string
}

/** The certificates of servers and authorities. Times are those of the machines, not of a simulated clock. */
export interface ServerCertificates {
  /** When they were checked. */
  readonly time: string
  readonly servers: readonly {
    readonly role: string
    readonly server: string
    /** Null if the server is unreachable. */
    readonly certificate: CertificateText | null
    /** Why other servers reject it. */
    readonly problem: string | null
  }[]
  readonly authorities: readonly CertificateText[]
}
