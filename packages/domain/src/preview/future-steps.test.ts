import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayMs, formatInterval } from '../time/index.ts'
import { previewGiven, testNow } from './test-preview.ts'

test('a tier that fills up later keeps replicas where they were, and is named with the first day', () => {
  const segments = Array.from({ length: 12 }, (_, day) => ({
    interval: formatInterval({ start: testNow - (day + 1) * dayMs, end: testNow - day * dayMs }),
    size: 10,
  }))
  const rules = [
    { type: 'loadByPeriod', period: 'P10D', tieredReplicants: { hot: 1 } },
    { type: 'loadForever', tieredReplicants: { cold: 1 } },
  ]
  const servers = [
    { name: 'a', type: 'historical', tier: 'hot', maxSize: 1000 },
    { name: 'b', type: 'historical', tier: 'cold', maxSize: 45 },
  ]
  const { summary } = previewGiven({ rules, segments, servers, horizon: 'P12D' })
  assert.equal(summary.effects.doesNotFit.segments, 0)
  const missing = { segments: 8, copies: 8, bytes: 80 }
  assert.deepEqual(summary.laterLosses, {
    underReplicated: { from: '2026-06-18T00:00:00.000Z', ...missing },
    doesNotFit: { from: '2026-06-18T00:00:00.000Z', ...missing, tiers: ['cold'] },
  })
  const last = summary.steps!.at(-1)!
  assert.deepEqual(
    ['hot', 'cold'].map((tier) => [last.tiers![tier]!.bytesAfter, last.tiers![tier]!.doesNotFit.copies]),
    [
      [80, 0],
      [40, 8],
    ],
  )
})
