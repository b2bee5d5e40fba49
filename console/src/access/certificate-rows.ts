import { type CertificateText, certificateNoticeMs, type ServerCertificates } from '../answers/index.ts'

/** A certificate with its age and what is wrong with it. */
export interface CertificateRow {
  readonly role: string
  readonly server: string
  readonly certificate: CertificateText | null
  readonly state: string
  readonly isProblem: boolean
  /** How long ago it was issued, and how long it is still valid, in milliseconds. */
  readonly ageMs: number | undefined
  readonly leftMs: number | undefined
}

const stateTexts: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'expired',
  CERT_NOT_YET_VALID: 'not valid yet',
  CERT_REVOKED: 'revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: 'not valid for its host',
  SELF_SIGNED_CERT_IN_CHAIN: 'unknown authority',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'unknown authority',
}

/** Returns all certificates: those with problems first, then those that expire first. */
export function certificateRows({ time, servers, authorities }: ServerCertificates): CertificateRow[] {
  const now = Date.parse(time)
  const known = [
    ...servers,
    ...authorities.map((certificate) => ({
      role: 'trusted authority',
      server: '',
      certificate,
      problem: null,
    })),
  ]
  return known
    .map(({ role, server, certificate, problem }): CertificateRow => {
      const leftMs = certificate === null ? undefined : Date.parse(certificate.validTo) - now
      const ageMs = certificate === null ? undefined : now - Date.parse(certificate.validFrom)
      const isSoon = leftMs !== undefined && leftMs < certificateNoticeMs
      return {
        role,
        server,
        certificate,
        state: stateOf(certificate, problem, leftMs, isSoon),
        isProblem: problem !== null || isSoon,
        ageMs,
        leftMs,
      }
    })
    .sort(
      (a, b) =>
        Number(b.isProblem) - Number(a.isProblem) ||
        (a.leftMs ?? -Infinity) - (b.leftMs ?? -Infinity) ||
        (`${a.role} ${a.server}` < `${b.role} ${b.server}` ? -1 : 1),
    )
}

function stateOf(
  certificate: CertificateText | null,
  problem: string | null,
  leftMs: number | undefined,
  isSoon: boolean,
): string {
  if (problem !== null)
    return certificate === null ? `unreachable: ${problem}` : (stateTexts[problem] ?? problem)
  if (leftMs !== undefined && leftMs < 0) return 'expired'
  return isSoon ? 'expires soon' : 'valid'
}
