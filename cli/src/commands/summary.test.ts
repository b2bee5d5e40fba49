import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sampleUsers } from '../ldap/index.ts'
import { directoryLines, plainProfileText } from './summary.ts'

for (const [certificateFile, requiresLogin, text] of [
  [null, false, 'Profile plain: no TLS, no login, everything is allowed.'],
  ['/authority.pem', false, 'Profile plain: TLS as configured, no login, everything is allowed.'],
  [null, true, 'Profile plain: no TLS, login as configured.'],
  ['/authority.pem', true, 'Profile plain: TLS as configured, login as configured.'],
] as const) {
  test(`summarizes the plain profile ${certificateFile ? 'with' : 'without'} TLS and ${requiresLogin ? 'with' : 'without'} logins`, () => {
    assert.equal(plainProfileText({ certificateFile, requiresLogin }), text)
  })
}

test('lists the users of the sample directory with their passwords', () => {
  assert.deepEqual(directoryLines({ directoryUsers: sampleUsers }), [
    'Directory users: alice (password alice-password), bob (password bob-password), carol (password carol-password)',
  ])
  assert.deepEqual(directoryLines({ directoryUsers: [] }), [])
})
