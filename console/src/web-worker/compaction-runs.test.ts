import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finish } from '@svc/domain/steps'
import { compactionRunsOf } from './compaction-runs.ts'

const listOf = (...intervals: string[]) =>
  intervals.map((interval) => ({ interval, bytes: 1, segments: 1, reason: '' }))

test('joins intervals of the same state that follow each other or overlap', () => {
  const runs = finish(
    compactionRunsOf({
      // In the order of the policy.
      awaiting: listOf('2026-01-05/P1D', '2026-01-03/P1D', '2026-01-04/P1D'),
      skipped: listOf('-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z'),
      compacted: listOf('2026-01-01/P3D', '2026-01-02/P1D', '2026-01-09/P1D'),
    }),
  )
  const day = (number: number) => Date.UTC(2026, 0, number)
  assert.deepEqual(runs, [
    { state: 'awaiting', start: day(3), end: day(6) },
    { state: 'skipped', start: Number.NEGATIVE_INFINITY, end: Number.POSITIVE_INFINITY },
    { state: 'compacted', start: day(1), end: day(4) },
    { state: 'compacted', start: day(9), end: day(10) },
  ])
})
