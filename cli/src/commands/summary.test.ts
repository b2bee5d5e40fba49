import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainProfileText } from './summary.ts'

for (const [certificateFile, asksForLogin, text] of [
  [null, false, 'Profile plain: no TLS, no log-in, everything is allowed.'],
  ['/authority.pem', false, 'Profile plain: TLS as it was set, no log-in, everything is allowed.'],
  [null, true, 'Profile plain: no TLS, log-in as it was set.'],
  ['/authority.pem', true, 'Profile plain: TLS as it was set, log-in as it was set.'],
] as const) {
  test(`the plain profile ${certificateFile ? 'with' : 'without'} TLS and ${asksForLogin ? 'with' : 'without'} log-in says so`, () => {
    assert.equal(plainProfileText({ certificateFile, asksForLogin }), text)
  })
}
