import { LastEntries } from '../runtime/index.ts'
import type { DescribedCertificate } from '../tls/index.ts'

/** A TLS handshake that this server refused, or that failed. */
export interface RefusedHandshake {
  readonly id: string
  readonly time: string
  readonly address: string
  /** A stable code: NO_CERTIFICATE, WRONG_HOST, or that of the TLS library, such as CERT_HAS_EXPIRED. */
  readonly code: string
  readonly reason: string
  /** Null if the client sent none, or if the handshake failed before. */
  readonly certificate: DescribedCertificate | null
}

/** A request that was refused because of its login or a missing permission. */
export interface RefusedRequest {
  /** The value of the X-Request-Id header of the response. */
  readonly id: string
  readonly time: string
  readonly address: string
  readonly method: string
  readonly path: string
  readonly status: number
  /** The user name in the credentials; empty without credentials. */
  readonly user: string
  readonly message: string
}

/** The handshakes and requests that a server refused most recently. */
export interface Refusals {
  readonly handshakes: LastEntries<RefusedHandshake>
  readonly requests: LastEntries<RefusedRequest>
}

const capacity = 1000

/** Creates the journals of a server, which keep the last 1,000 refusals of each kind. */
export const createRefusals = (): Refusals => ({
  handshakes: new LastEntries(capacity),
  requests: new LastEntries(capacity),
})
