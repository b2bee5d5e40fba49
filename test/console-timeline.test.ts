import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compactionCells, replicaCells, unusedCells } from '../console/src/datasource/lane-cells.ts'
import { loadTimeParts } from '../console/src/datasource/load-time-text.ts'

const dayMs = 86_400_000
const buckets = {
  start: '2026-01-01T00:00:00.000Z',
  widthMs: dayMs,
  count: 4,
  covered: '2026-01-01/2026-01-05',
  tiers: {},
  unqueryable: [0, 0, 0, 0],
  unused: [0, 0, 0, 0],
}
const kindsOf = (lane: ReturnType<typeof unusedCells>[number] | undefined) =>
  lane?.cells.map(({ kind }) => kind)

test('the lane of unused data marks the buckets that unused segments overlap', () => {
  const cases = [
    ['2026-01-02/2026-01-03', ['none', 'hidden', 'none', 'none']],
    ['2026-01-02T12:00:00Z/2026-01-03T01:00:00Z', ['none', 'hidden', 'hidden', 'none']],
    ['2020-01-01/2030-01-01', ['hidden', 'hidden', 'hidden', 'hidden']],
    ['2025-01-01/2025-01-02', undefined],
    ['2026-02-01/2026-02-02', undefined],
  ] as const
  for (const [interval, expected] of cases)
    assert.deepEqual(kindsOf(unusedCells(buckets, [{ interval }])[0]), expected, interval)
  assert.deepEqual(unusedCells(buckets, undefined), [])
})

test('the lane of compaction shows what awaits compaction first, and is left out if the datasource is not compacted', () => {
  const run = (state: 'awaiting' | 'skipped' | 'compacted', from: number, to: number) => ({
    state,
    start: Date.UTC(2026, 0, from),
    end: Date.UTC(2026, 0, to),
  })
  const runs = [run('awaiting', 2, 4), run('skipped', 3, 30), run('compacted', -9, 3)]
  assert.deepEqual(kindsOf(compactionCells(buckets, runs)[0]), ['full', 'partial', 'waiting', 'skipped'])
  assert.deepEqual(compactionCells(buckets, undefined), [])
})

test('the lane of overshadowed data marks its buckets, and is left out if there is none', () => {
  const lane = (overshadowed: readonly number[]) => ({
    unserved: [0, 0, 0, 0],
    underReplicated: [0, 0, 0, 0],
    served: [1, 1, 1, 1],
    notLoaded: [0, 0, 0, 0],
    overshadowed,
  })
  const [served, hidden] = replicaCells(buckets, lane([0, 0, 5, 0]))
  assert.deepEqual(kindsOf(served), ['full', 'full', 'full', 'full'])
  assert.equal(hidden!.label, 'overshadowed')
  assert.deepEqual(kindsOf(hidden), ['none', 'none', 'hidden', 'none'])
  assert.equal(replicaCells(buckets, lane([0, 0, 0, 0])).length, 1)
})

test('the load time names what limits the slowest tier, and tiers without measurements', () => {
  const tier = (durationMs: number | null, limitedBy: string | null) => ({ durationMs, limitedBy })
  assert.deepEqual(
    loadTimeParts({
      durationMs: 9000,
      tiers: { hot: tier(9000, 'replicationThrottleLimit'), cold: tier(10, 'servers') },
    }),
    { durationMs: 9000, limits: ['replicationThrottleLimit in hot'], unmeasured: [] },
  )
  assert.deepEqual(
    loadTimeParts({
      durationMs: null,
      tiers: { hot: tier(null, null), cold: tier(10, 'servers') },
    }).unmeasured,
    ['hot'],
  )
})
