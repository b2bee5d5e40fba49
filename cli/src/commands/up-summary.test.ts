import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sampleUsers } from '../ldap/index.ts'
import { directoryLines, plainProfileText, stepDisplay, unservedLines } from './up-summary.ts'

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

test('mentions tiers that have no historicals anymore', () => {
  assert.deepEqual(unservedLines({ unservedTiers: [] }), [])
  assert.match(unservedLines({ unservedTiers: ['hot'] })[0]!, /^Tier \[hot\] had historicals/)
  assert.match(unservedLines({ unservedTiers: ['a', 'hot'] })[0]!, /^Tiers \[a, hot\] had historicals/)
})

/** What a start prints with two steps. */
function printedOn(terminal: { isTTY?: boolean; columns?: number }): string {
  let printed = ''
  const display = stepDisplay({
    ...terminal,
    write: (text) => {
      printed += text
    },
  })
  display.show('Started redis')
  display.show('Started postgres')
  display.end()
  return printed
}

test('shows the steps of a start as lines', () => {
  assert.match(printedOn({}), /^ +\d+\.\d s {2}Started redis\n +\d+\.\d s {2}Started postgres\n$/)
})

test('shows the steps of a start on a terminal as one line, which is cleared at the end', () => {
  const lines = printedOn({ isTTY: true, columns: 80 }).split('\r\u001b[K')
  assert.equal(lines.length, 4)
  assert.match(lines[1]!, /^ +\d+\.\d s {2}Started redis$/)
  assert.match(lines[2]!, /^ +\d+\.\d s {2}Started postgres$/)
  assert.equal(lines[3], '')
  // A terminal whose width is unknown reports 0.
  assert.match(printedOn({ isTTY: true, columns: 0 }), /Started redis\r/)
  assert.equal(printedOn({ isTTY: true, columns: 12 }).split('\r\u001b[K')[1]?.length, 11)
})
