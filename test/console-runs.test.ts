// How the console groups the runs of duties, without a browser.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DutyGroupRun, type DutyHistory, didText, runRows } from '../console/src/runs/duty-run-rows.ts'

type Duty = DutyGroupRun['duties'][number]

const timeOf = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`
/** A run that starts after as many seconds as its number. */
const run = (number: number, duty: Partial<Duty> = {}): DutyGroupRun => ({
  number,
  startedAt: timeOf(number),
  durationMs: 5,
  duties: [{ duty: 'runRules', durationMs: 5, did: null, error: null, ...duty }],
})
const historyOf = (runs: readonly DutyGroupRun[], nonIdleRuns: readonly DutyGroupRun[]): DutyHistory => ({
  name: 'SomeDuties',
  totalRuns: runs[0]!.number,
  runs,
  nonIdleRuns,
  lastFailures: [],
})
const requests = { decided: 3, sent: 3, retried: 1, answered: 2, failed: 0 }
const failed = run(7, { error: 'it broke' })
const sent = run(6, { did: { loads: 3 }, requests })

test('runs with nothing to do are one row, and all others are rows of their own', () => {
  const history = historyOf([run(9), run(8), failed, sent, run(5)], [failed, sent])
  assert.deepEqual(runRows(history), {
    rows: [
      { kind: 'idle', runs: 2, since: timeOf(8), until: timeOf(9) },
      { kind: 'run', run: failed, requests: undefined },
      { kind: 'run', run: sent, requests },
      { kind: 'idle', runs: 1, since: timeOf(5), until: timeOf(5) },
    ],
    earlierRuns: 4,
  })
})

test('runs that did something stay listed, with the number of idle runs that followed', () => {
  const older = run(2, { did: { loads: 1 } })
  assert.deepEqual(runRows(historyOf([run(40), run(39)], [failed, sent, older])), {
    rows: [
      { kind: 'idle', runs: 33, since: timeOf(7), until: timeOf(40) },
      { kind: 'run', run: failed, requests: undefined },
      { kind: 'run', run: sent, requests },
      { kind: 'idle', runs: 3, since: timeOf(2), until: timeOf(6) },
      { kind: 'run', run: older, requests: undefined },
    ],
    earlierRuns: 1,
  })
})

test('says what a run did, without zeros', () => {
  assert.equal(
    didText(run(1, { did: { loads: 1, drops: 0, markedUnused: 2 } })),
    '1 load, 2 segments marked as unused',
  )
  assert.equal(didText(run(1, { did: { other: 1234 } })), 'other: 1,234')
  assert.equal(didText(run(1)), 'nothing')
})
