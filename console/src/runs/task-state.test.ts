import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf, hasStarted } from './task-state.ts'

const cases = [
  ['waits for a lock', 'RUNNING', 'WAITING', null, false],
  ['waits for a slot', 'RUNNING', 'PENDING', null, false],
  ['runs', 'RUNNING', 'RUNNING', 'worker', true],
  ['has run', 'SUCCESS', 'NONE', 'worker', true],
  ['failed after it ran', 'FAILED', 'NONE', 'worker', true],
  ['was shut down before a worker started it', 'FAILED', 'NONE', null, false],
] as const

for (const [name, status, runnerStatusCode, host, expected] of cases)
  test(`a task that ${name} has ${expected ? 'a' : 'no'} log`, () =>
    assert.equal(
      hasStarted({ status, runnerStatusCode, location: { host, port: -1, tlsPort: -1 } }),
      expected,
    ))

test('names the port of a worker, with and without TLS', () => {
  assert.equal(addressOf({ host: 'worker', port: -1, tlsPort: 8291 }), 'worker:8291')
  assert.equal(addressOf({ host: 'worker', port: 8091, tlsPort: -1 }), 'worker:8091')
})
