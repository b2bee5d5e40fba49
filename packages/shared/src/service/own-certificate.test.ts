import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownCallProblem } from './own-certificate.ts'

const failing = (code: string) => Object.assign(new Error('it failed'), { code })

for (const [name, code, showsCertificate, expected] of [
  [
    'shown as a client and refused',
    'ECONNRESET',
    true,
    /^Calls with the certificate of \[svc.client.https.keyStorePath\]/,
  ],
  [
    'missing as a client',
    'ECONNRESET',
    false,
    /^Calls of this server are refused .* \[svc.client.https.keyStorePath\] is not set, and asks for one by \[svc.server.https.requireClientCertificate\]$/,
  ],
  [
    'that does not hold',
    'CERT_REVOKED',
    false,
    /^The certificate of \[svc.server.https.keyStorePath\] .*does not hold/,
  ],
] as const) {
  test(`a certificate ${name} is told as that`, () => {
    assert.match(String(ownCallProblem(failing(code), 'historical-0', showsCertificate)), expected)
  })
}

const nameProblem = (code: string) =>
  `The name [historical-0] of [svc.host] does not lead to this server (it failed, ${code}); other servers could not call it`

for (const code of ['ENOTFOUND', 'ECONNREFUSED', 'EHOSTUNREACH']) {
  test(`a name that leads to nobody is told as that (${code})`, () => {
    assert.equal(ownCallProblem(failing(code), 'historical-0', false), nameProblem(code))
  })
}

test('a name server that is away says nothing about the server', () => {
  const found = ownCallProblem(failing('EAI_AGAIN'), 'historical-0', false)
  assert.deepEqual(found, { undecided: nameProblem('EAI_AGAIN') })
})
