import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownCallProblem } from './own-certificate.ts'

const failing = (code: string) => Object.assign(new Error('it failed'), { code })

for (const [name, code, showsCertificate, expected] of [
  [
    'that is rejected as a client certificate',
    'ECONNRESET',
    true,
    /^This server rejects its own client certificate from \[svc.client.https.keyStorePath\]/,
  ],
  [
    'that is missing as a client certificate',
    'ECONNRESET',
    false,
    /^This server rejects its own calls .* \[svc.server.https.requireClientCertificate\] requires .* \[svc.client.https.keyStorePath\] is not set$/,
  ],
  [
    'that is revoked',
    'CERT_REVOKED',
    false,
    /^Other servers cannot call .* \[svc.server.https.keyStorePath\] is not valid: it failed, CERT_REVOKED \(checked with /,
  ],
] as const) {
  test(`reports a certificate ${name}`, () => {
    assert.match(String(ownCallProblem(failing(code), 'historical-0', showsCertificate)), expected)
  })
}

const nameProblem = (code: string) =>
  `Host [historical-0] from [svc.host] does not point to this server (it failed, ${code}), so other servers cannot call this server`

for (const code of ['ENOTFOUND', 'ECONNREFUSED', 'EHOSTUNREACH']) {
  test(`reports a host name that points nowhere (${code})`, () => {
    assert.equal(ownCallProblem(failing(code), 'historical-0', false), nameProblem(code))
  })
}

test('does not draw conclusions while DNS is unavailable', () => {
  const found = ownCallProblem(failing('EAI_AGAIN'), 'historical-0', false)
  assert.deepEqual(found, { undecided: nameProblem('EAI_AGAIN') })
})
