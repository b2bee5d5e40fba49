import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { IndexProgress } from '@svc/shared/ingestion'
import { type IngestPhase, progressOf, warningsOf } from './progress-text.ts'
import type { TaskStatus } from './task.ts'

const running: TaskStatus = {
  statusCode: 'RUNNING',
  runnerStatusCode: 'RUNNING',
  errorMsg: null,
  progress: null,
  duration: -1,
}

const withProgress = (progress: Partial<IndexProgress>): IngestPhase => ({
  kind: 'task',
  status: {
    ...running,
    progress: {
      phase: 'reading',
      fraction: undefined,
      rowsRead: undefined,
      rowsWritten: 0,
      segmentsWritten: 0,
      ...progress,
    },
  },
})

describe('progress of an ingestion', () => {
  const cases: { name: string; given: IngestPhase; fraction: number; text: string }[] = [
    { name: 'copying', given: { kind: 'copying' }, fraction: 0, text: 'Copying the file' },
    {
      name: 'waiting',
      given: { kind: 'task', status: { ...running, runnerStatusCode: 'PENDING' } },
      fraction: 0,
      text: 'Waiting for a worker slot',
    },
    { name: 'starting', given: { kind: 'task', status: running }, fraction: 0, text: 'Starting the task' },
    {
      name: 'reading, before the first report',
      given: withProgress({}),
      fraction: 0.05,
      text: 'Reading and sorting rows',
    },
    {
      name: 'half read',
      given: withProgress({ fraction: 0.5 }),
      fraction: 0.05 + 0.55 / 2,
      text: 'Reading and sorting rows',
    },
    {
      name: 'half written',
      given: withProgress({
        phase: 'writing',
        fraction: 0.5,
        rowsRead: 20000,
        rowsWritten: 1,
        segmentsWritten: 1,
      }),
      fraction: 0.8,
      text: 'Writing segments, 20,000 rows read, 1 row in 1 segment',
    },
    {
      name: 'more than all',
      given: withProgress({ phase: 'writing', fraction: 1.5 }),
      fraction: 1,
      text: 'Writing segments',
    },
    {
      name: 'loading',
      given: { kind: 'loading', percent: 25 },
      fraction: 0.25,
      text: 'Loading segments onto historicals',
    },
  ]
  for (const { name, given, fraction, text } of cases) {
    test(name, () => {
      const progress = progressOf(given)
      assert.equal(progress.text, text)
      assert.ok(Math.abs(progress.fraction - fraction) < 1e-9, String(progress.fraction))
    })
  }
})

test('warns of columns that are in no row', () => {
  assert.deepEqual(warningsOf({}, 'a.csv'), [])
  assert.deepEqual(warningsOf({ columnsInNoRow: ['zz'] }, 'a.csv'), [
    'Column [zz] is not in any row of file [a.csv]',
  ])
})
