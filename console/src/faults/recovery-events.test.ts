import assert from 'node:assert/strict'
import { test } from 'node:test'
import { remainingText } from './fault-text.ts'
import { eventsBetween, lackingText, type Observation } from './recovery-events.ts'

test('says how many segments lack replicas', () => {
  assert.equal(lackingText(1), '1 more segment lacks replicas.')
  assert.equal(lackingText(2000), '2,000 more segments lack replicas.')
})

const healthy: Observation = {
  servers: new Set(['coordinator a:1', 'historical b:1']),
  leaders: { coordinator: 'a:1', overlord: 'c:1' },
  isReachable: true,
  isSettled: true,
  unserved: 0,
  faults: new Set(),
}

test('lists the kill of the only coordinator', () => {
  const injected = { ...healthy, faults: new Set(['killed (a:1)']) }
  const gone = { ...injected, isReachable: false }
  assert.deepEqual(
    [
      ...eventsBetween(healthy, injected),
      ...eventsBetween(injected, gone),
      ...eventsBetween(gone, healthy),
      ...eventsBetween(healthy, { ...healthy, leaders: { coordinator: 'd:1', overlord: 'c:1' } }),
    ],
    [
      'Fault started: killed (a:1).',
      'The coordinator leader does not respond.',
      'Fault ended: killed (a:1).',
      'The coordinator leader responds again.',
      'The coordinator leader is now d:1.',
    ],
  )
})

test('says how long faults last', () => {
  const until = '2026-01-01T00:00:09.000Z'
  const now = Date.parse('2026-01-01T00:00:00.000Z')
  assert.equal(remainingText({ until, once: true }, now), 'once')
  assert.equal(remainingText({ until, once: false }, now), '9 s left')
  assert.equal(remainingText({ until: null, once: false }, now), 'until you clear it')
})
