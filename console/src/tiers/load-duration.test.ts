import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChangedTier } from '@svc/domain/preview'
import { loadDurationOf } from './load-duration.ts'

const server = (host: string, tier = 'hot') => ({
  host,
  tier,
  type: 'historical',
  priority: 0,
  currSize: 0,
  maxSize: 100e9,
})
const tier = (name: string, copies: number, bytes: number) =>
  ({ name, loaded: { segments: copies, copies, bytes } }) as ChangedTier
const measured = (bytesPerSecond: number | null) => ({ bytesPerSecond, failedLoads: 0, lastError: null })
const noChanges = { failed: [], drained: [], added: [] }
const added = {
  name: 'added',
  type: 'historical',
  tier: 'hot',
  maxSizeBytes: 100e9,
  decommissioning: false,
} as const

const cases = [
  ['10 GB at 100 MB/s, in seconds', {}, 100],
  ['half of that with an added server', { added: [added] }, 50],
  ['nothing without its only server, which fails', { failed: ['a'] }, undefined],
  ['nothing without its only server, which is drained', { drained: ['a'] }, undefined],
  ['an added server as fast as the failed one', { failed: ['a'], added: [added] }, 100],
] as const

for (const [name, changes, seconds] of cases) {
  test(`${name}: ${seconds ?? 'no load time'}`, () => {
    const duration = loadDurationOf({
      tiers: [tier('hot', 100, 10e9)],
      changes: { ...noChanges, ...changes },
      servers: [server('a'), server('unmeasured', 'cold')],
      activity: { a: measured(100e6) },
    })
    assert.equal(duration.atLeastMs && Math.round(duration.atLeastMs / 1000), seconds)
    assert.equal(duration.slowest, seconds && 'hot')
    assert.deepEqual(duration.unmeasured, [])
  })
}

test('the slowest tier decides; tiers without loads do not count, and tiers without measurements are named', () => {
  const duration = loadDurationOf({
    tiers: [tier('hot', 10, 1e9), tier('cold', 10, 5e9), tier('icy', 1, 1), tier('idle', 0, 0)],
    changes: noChanges,
    servers: [server('a'), server('b', 'cold'), server('c', 'icy'), server('d', 'idle')],
    activity: { a: measured(100e6), b: measured(100e6), c: measured(null) },
  })
  assert.deepEqual(
    { ...duration, atLeastMs: Math.round(duration.atLeastMs!) },
    {
      atLeastMs: 50_000,
      slowest: 'cold',
      unmeasured: ['icy'],
    },
  )
})
