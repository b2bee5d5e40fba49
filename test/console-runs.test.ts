// How the console groups the runs of duties, without a browser.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DutyGroupRun, didText, runRows } from '../console/src/runs/duty-run-rows.ts'

type Duty = DutyGroupRun['duties'][number]

const run = (second: number, duty: Partial<Duty> = {}): DutyGroupRun => ({
  startedAt: `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`,
  durationMs: 5,
  duties: [{ duty: 'runRules', durationMs: 5, did: null, error: null, ...duty }],
})
const requests = { decided: 3, sent: 3, retried: 1, answered: 2, failed: 0 }

test('runs with nothing to do are one row, and all others are rows of their own', () => {
  const failed = run(7, { error: 'it broke' })
  const sent = run(6, { did: { loads: 3 }, requests })
  const rows = runRows([run(9), run(8), failed, sent, run(5)])
  assert.deepEqual(rows, [
    { kind: 'idle', runs: 2, newest: run(9), oldest: run(8) },
    { kind: 'run', run: failed, requests: undefined },
    { kind: 'run', run: sent, requests },
    { kind: 'idle', runs: 1, newest: run(5), oldest: run(5) },
  ])
})

test('says what a run did, without zeros', () => {
  assert.equal(
    didText(run(1, { did: { loads: 1, drops: 0, markedUnused: 2 } })),
    '1 load, 2 segments marked as unused',
  )
  assert.equal(didText(run(1, { did: { other: 1234 } })), 'other: 1,234')
  assert.equal(didText(run(1)), 'nothing')
})
