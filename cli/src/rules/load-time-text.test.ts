import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AnsweredLoadTime, loadTimeSentences, loadTimeTable } from './load-time-text.ts'

const tier = { limitedBy: 'servers', loads: 62, bytes: 209_400, servers: 2, measuredServers: 1 }
const known: AnsweredLoadTime = {
  durationMs: 200_000,
  tiers: { cold: { ...tier, durationMs: 200_000 }, hot: { ...tier, durationMs: 12_000 } },
  assumptions: ['Nothing else is loaded'],
}
const unknown: AnsweredLoadTime = {
  ...known,
  durationMs: null,
  tiers: { ...known.tiers, hot: { ...tier, durationMs: null, limitedBy: null, measuredServers: 0 } },
}

test('says how long loading takes, or that the cluster has not measured it', () => {
  assert.deepEqual(loadTimeSentences(known), ['Loading takes about 3 min 20 s (estimated).'])
  assert.deepEqual(loadTimeSentences(unknown), [
    'How long loading takes is unknown: no loads have been measured in tier [hot] yet.',
  ])
  assert.deepEqual(loadTimeSentences({ durationMs: 0, tiers: {}, assumptions: [] }), [])
})

test('has one row per tier', () => {
  assert.deepEqual(loadTimeTable(unknown).rows, [
    ['cold', '62', '209.4 kB', '3 min 20 s', 'servers', '2', '1'],
    ['hot', '62', '209.4 kB', 'unknown', '', '2', '0'],
  ])
})
