import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handshakeAdvice } from './index.ts'

const certificate = {
  subject: 'CN=client',
  issuer: 'CN=authority',
  serialNumber: '01',
  names: 'DNS:client',
  validFrom: '2026-01-01T00:00:00.000Z',
  validTo: '2026-02-01T00:00:00.000Z',
  fingerprint: '',
}
const time = '2026-02-01T01:00:00.000Z'

for (const [code, expected] of [
  ['CERT_HAS_EXPIRED', /was valid until 2026-02-01T00:00:00\.000Z, 1 h before the handshake$/],
  ['CERT_REVOKED', /^The authority \[CN=authority\] has revoked the certificate$/],
  [
    'CRL_HAS_EXPIRED',
    /^The certificate revocation list of .* in \[svc\.server\.https\.crlPath\] has expired$/,
  ],
  ['CRL_NOT_YET_VALID', /is not valid yet$/],
  [
    'UNABLE_TO_GET_CRL',
    /trust store does not contain .*, or .*crlPath\] has no revocation list of this authority$/,
  ],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', /trust store does not contain the authority \[CN=authority\]/],
  [
    'WRONG_HOST',
    /^The certificate is valid for \[DNS:client\], but the client connected from \[192\.0\.2\.1\]/,
  ],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', /^The client does not trust the authority/],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN', /^The client rejected this server's certificate/],
  ['OTHER', /^The TLS library rejected the certificate \(code \[OTHER\]\)$/],
] as const)
  test(`explains a handshake that was refused with ${code}`, () => {
    const refused = { id: '1', time, address: '192.0.2.1', code, reason: '', certificate }
    assert.match(handshakeAdvice(refused), expected)
  })
