import type { AuthenticatorStep } from './directory-step.ts'
import type { RefusalReason } from './login-failure.ts'

/** A certificate, as text. Times are ISO 8601. */
export interface DescribedCertificate {
  /** Who it is for, such as `CN=broker`. */
  readonly subject: string
  /** The authority that signed it. */
  readonly issuer: string
  readonly serialNumber: string
  /** The names and addresses that it is valid for, such as `DNS:broker`. */
  readonly names: string
  readonly validFrom: string
  readonly validTo: string
  readonly fingerprint: string
}

/** A TLS handshake that a server refused, or that failed. */
export interface RefusedHandshake {
  readonly id: string
  readonly time: string
  /** The address of the client. */
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
  /** The message in the response, which does not reveal which users exist. */
  readonly message: string
  readonly reason: RefusalReason
  /** A sentence for administrators, without a period. */
  readonly because: string
  /** The requests to directories during the login, in order. */
  readonly directory: readonly AuthenticatorStep[]
}

/** A refusal, and the server that recorded it. */
export type Recorded<Refusal> = Refusal & { readonly instance: string }

// A router reaches its own journals and those of the leaders.
const prefixes = { router: '', coordinator: '/proxy/coordinator', overlord: '/proxy/overlord' }

/**
 * Returns the refusals that a router reaches, newest first. `read` reads a path at the router. A role without a leader does not
 * hide what others recorded, but if they recorded nothing, it may have: then throws why it could not be read.
 */
export async function refusalsAtRouter<Refusal extends { readonly time: string }>(
  journalPath: string,
  read: (path: string) => Promise<readonly Refusal[]>,
): Promise<Recorded<Refusal>[]> {
  const all = await Promise.allSettled(
    Object.entries(prefixes).map(async ([instance, prefix]) => {
      const refusals = await read(`${prefix}${journalPath}`)
      return refusals.map((refusal) => ({ instance, ...refusal }))
    }),
  )
  const found = all.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  const failed = all.find((one) => one.status === 'rejected')
  if (failed !== undefined && found.length === 0) throw failed.reason
  return found.sort((one, other) => (one.time < other.time ? 1 : -1))
}

/** Returns the fields of a certificate with their labels. */
export const certificateRows = (certificate: DescribedCertificate): [label: string, value: string][] => [
  ['subject', certificate.subject],
  ['authority', certificate.issuer],
  ['names', certificate.names],
  ['valid from', certificate.validFrom],
  ['valid until', certificate.validTo],
  ['serial number', certificate.serialNumber],
  ['fingerprint', certificate.fingerprint],
]
