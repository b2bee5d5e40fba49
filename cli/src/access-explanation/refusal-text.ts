import { formatDuration } from '@svc/domain/text'
import type { RefusedHandshake, RefusedRequest } from '@svc/shared/http'
import { emphasized, formatTable } from '../terminal/index.ts'
import type { Explanation } from './explain-access.ts'
import { explanationText } from './explanation-text.ts'
import type { Recorded } from './refusals.ts'

/** A refused handshake as text: what was wrong, and the certificate. */
export function handshakeText(refused: Recorded<RefusedHandshake>): string {
  const { id, instance, time, address, reason, certificate } = refused
  const sections = [
    `${emphasized('Refused')}: handshake ${id} from [${address}] to ${instance} at ${time}\n${reason}.`,
    `${adviceOn(refused)}.`,
  ]
  if (certificate !== null)
    sections.push(
      formatTable(
        ['certificate', ''],
        [
          ['subject', certificate.subject],
          ['authority', certificate.issuer],
          ['names', certificate.names],
          ['valid from', certificate.validFrom],
          ['valid until', certificate.validTo],
          ['serial number', certificate.serialNumber],
          ['fingerprint', certificate.fingerprint],
        ],
      ),
    )
  return `${sections.join('\n\n')}\n`
}

const untrusted = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_CRL',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** Returns what a refusal means, and what to do about it. */
function adviceOn({ code, time, address, certificate }: RefusedHandshake): string {
  if (code === 'NO_CERTIFICATE')
    return 'This server requires a certificate ([svc.server.https.requireClientCertificate]), but the client sent none'
  if (certificate === null) return 'The handshake failed before the client sent a certificate'
  const { issuer, names, validFrom, validTo } = certificate
  if (code === 'CERT_HAS_EXPIRED')
    return `The certificate, or a CA certificate in its chain, has expired. The certificate ${
      validTo < time
        ? `was valid until ${validTo}, ${formatDuration(Date.parse(time) - Date.parse(validTo))} before the handshake`
        : `is valid until ${validTo}`
    }`
  if (code === 'CERT_NOT_YET_VALID')
    return `The certificate is not valid before ${validFrom}, but this server's clock showed ${time}`
  if (code === 'CERT_REVOKED') return `The authority [${issuer}] has revoked the certificate`
  if (code === 'WRONG_HOST')
    return `The certificate is valid for [${names}], but the client connected from [${address}] ([svc.server.https.validateHostnames])`
  if (untrusted.has(code))
    return `This server's trust store does not contain the authority [${issuer}], or the client did not send the intermediate certificates`
  // OpenSSL has many more reasons than there are codes.
  if (code === 'UNSPECIFIED' || code === 'INVALID_CA')
    return `The TLS library rejected the certificate (code [${code}]). The most common cause is that the authority [${issuer}] is not allowed to issue certificates: its own certificate must have the basic constraint [CA:TRUE] and, if it has a key usage, [keyCertSign]. Keys and signatures that are too weak are also rejected`
  return `The TLS library rejected the certificate (code [${code}])`
}

/** A row for each refused handshake. */
export const handshakesText = (refused: readonly Recorded<RefusedHandshake>[]): string =>
  refused.length === 0
    ? 'No server has refused a handshake since it started.\n'
    : `${formatTable(
        ['time', 'server', 'client', 'certificate', 'code', 'ID'],
        refused.map(({ time, instance, address, certificate, code, id }) => [
          time,
          instance,
          address,
          certificate?.subject ?? '',
          code,
          id,
        ]),
      )}\n`

/** A refused request as text, with the explanation of access, if it had credentials. */
export function refusedRequestText(
  { id, instance, time, address, method, path, status, user, message }: Recorded<RefusedRequest>,
  explanation: Explanation | undefined,
): string {
  const title = `${emphasized('Refused')}: request ${id} from [${address}] to ${instance} at ${time}\n${method} ${path}: status ${status}, ${message}.`
  if (explanation === undefined)
    return `${title}\n\nThe request had no readable credentials: its Authorization header was missing or did not use the Basic scheme.\n`
  const wrongPassword =
    status === 401 && explanation.allowed
      ? `With the correct password, [${user}] is allowed to make this request. Either the password was wrong, or the user's permissions have changed since the request was refused.\n\n`
      : ''
  return `${title}\n\n${wrongPassword}${explanationText(explanation)}`
}
