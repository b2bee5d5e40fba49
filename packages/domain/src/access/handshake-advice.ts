import { formatDuration } from '../text/index.ts'
import { parseInstant } from '../time/index.ts'
import type { RefusedHandshake } from './refusals.ts'

const untrusted = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

const addAuthority = "Add the authority's certificate to the trust store of the client"

/** Returns what a refused handshake means, and what to do about it, as a sentence without a period. */
export function handshakeAdvice({ code, time, address, certificate }: RefusedHandshake): string {
  if (code === 'NO_CERTIFICATE')
    return 'This server requires a certificate ([svc.server.https.requireClientCertificate]), but the client sent none'
  if (code === 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA')
    return `The client does not trust the authority that issued this server's certificate. ${addAuthority}`
  if (code === 'ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN')
    return `The client rejected this server's certificate, usually because it does not trust the authority that issued it. ${addAuthority}`
  if (certificate === null) return 'The handshake failed before the client sent a certificate'
  const { issuer, names, validFrom, validTo } = certificate
  if (code === 'CERT_HAS_EXPIRED')
    return `The certificate, or a CA certificate in its chain, has expired. The certificate ${
      validTo < time
        ? `was valid until ${validTo}, ${formatDuration(parseInstant(time) - parseInstant(validTo))} before the handshake`
        : `is valid until ${validTo}`
    }`
  if (code === 'CERT_NOT_YET_VALID')
    return `The certificate is not valid before ${validFrom}, but this server's clock showed ${time}`
  if (code === 'CERT_REVOKED') return `The authority [${issuer}] has revoked the certificate`
  if (code === 'CRL_HAS_EXPIRED' || code === 'CRL_NOT_YET_VALID')
    return `The certificate revocation list of the authority [${issuer}] in [svc.server.https.crlPath] ${code === 'CRL_HAS_EXPIRED' ? 'has expired' : 'is not valid yet'}`
  if (code === 'UNABLE_TO_GET_CRL')
    return `This server's trust store does not contain the authority [${issuer}], or [svc.server.https.crlPath] has no revocation list of this authority`
  if (code === 'WRONG_HOST')
    return `The certificate is valid for [${names}], but the client connected from [${address}] ([svc.server.https.validateHostnames])`
  if (untrusted.has(code))
    return `This server's trust store does not contain the authority [${issuer}], or the client did not send the intermediate certificates`
  // OpenSSL has many more reasons than there are codes.
  if (code === 'UNSPECIFIED' || code === 'INVALID_CA')
    return `The TLS library rejected the certificate (code [${code}]). The most common cause is that the authority [${issuer}] is not allowed to issue certificates: its own certificate must have the basic constraint [CA:TRUE] and, if it has a key usage, [keyCertSign]. Keys and signatures that are too weak are also rejected`
  return `The TLS library rejected the certificate (code [${code}])`
}
