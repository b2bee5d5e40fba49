import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
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

describe('a loss begins within a long step', () => {
  const server = { name: 'a', type: 'historical', tier: 'hot', maxSize: 1000 }
  const loads = { type: 'loadByPeriod', tieredReplicants: { hot: 1 } }
  const cases: [name: string, horizon: string, interval: string, period: string, from: string][] = [
    ['of a week', 'P100D', '2026-06-01/2026-06-02', 'P40D', '2026-07-12T00:00:00.000Z'],
    ['of a month', 'P1Y', '2026-06-01/2026-06-02', 'P100D', '2026-09-10T00:00:00.000Z'],
    ['of a day', 'P20D', '2026-06-14T06/2026-06-14T07', 'P5D', '2026-06-19T07:00:00.000Z'],
    ['of a month, to the hour', 'P1Y', '2026-06-14T06/2026-06-14T07', 'P7M', '2027-01-14T07:00:00.000Z'],
  ]
  for (const [name, horizon, interval, period, from] of cases)
    test(name, () => {
      const rules = [{ ...loads, period }, { type: 'dropForever' }]
      const segments = [{ interval, size: 10 }]
      const { summary } = previewGiven({ rules, segments, servers: [server], horizon })
      const loss = { from, segments: 1, bytes: 10, added: { segments: 1, bytes: 10 } }
      assert.deepEqual(summary.laterLosses, { unqueryable: loss, unused: loss })
    })

  test('of a tier that is full', () => {
    const at = (day: string) => ({ interval: `${day}/P1D`, size: 10 })
    const { summary } = previewGiven({
      rules: [
        { ...loads, period: 'P40D' },
        { type: 'loadForever', tieredReplicants: { cold: 1 } },
      ],
      segments: [at('2026-06-01'), at('2026-06-03')],
      servers: [server, { ...server, name: 'b', tier: 'cold', maxSize: 15 }],
      horizon: 'P1Y',
    })
    assert.equal(summary.laterLosses!.doesNotFit!.from, '2026-07-14T00:00:00.000Z')
    assert.equal(summary.tiers!.cold!.doesNotFitFrom, '2026-07-14T00:00:00.000Z')
  })
})
