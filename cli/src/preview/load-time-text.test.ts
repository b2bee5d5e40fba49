import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnsweredLoadTime } from '@svc/domain/load-time'
import { loadCurves, loadTimeSentences, loadTimeTable } from './load-time-text.ts'

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
    'The load time is unknown: no loads have been measured in tier [hot] yet.',
  ])
  const both = { ...unknown, tiers: { ...unknown.tiers, cold: unknown.tiers.hot! } }
  assert.match(loadTimeSentences(both)[0]!, /measured in tiers \[cold, hot\] yet/)
  assert.deepEqual(loadTimeSentences({ durationMs: 0, tiers: {}, assumptions: [] }), [])
})

test('has one row per tier', () => {
  assert.deepEqual(loadTimeTable(unknown).rows, [
    ['cold', '62', '209.4 kB', '3 min 20 s', 'servers', '2', '1'],
    ['hot', '62', '209.4 kB', 'unknown', '', '2', '0'],
  ])
})

test('the curves of tiers show how many replicas are loaded over time, with one scale', () => {
  const tier = { limitedBy: 'servers', loads: 8, bytes: 8, servers: 1, measuredServers: 1 }
  const curve = (...points: [seconds: number, loads: number][]) =>
    points.map(([seconds, loads]) => ({ durationMs: 1000 * seconds, loads }))
  assert.deepEqual(
    loadCurves({
      durationMs: 80_000,
      tiers: {
        hot: { ...tier, durationMs: 80_000, curve: curve([0, 0], [80, 8]) },
        _default_tier: { ...tier, durationMs: 40_000, curve: curve([20, 0], [40, 8]) },
        cold: { ...tier, durationMs: null, curve: [] },
      },
      assumptions: [],
    }),
    [
      'hot            ▁▁▁▁▂▂▂▂▂▃▃▃▃▃▄▄▄▄▄▅▅▅▅▅▆▆▆▆▆▇▇▇▇▇██████',
      '_default_tier  ▁▁▁▁▁▁▁▁▁▁▁▂▃▄▅▅▆▇██████████████████████',
      '               now                           1 min 20 s',
    ],
  )
})
