import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseInterval } from '../time/index.ts'
import {
  assumedCompactionRate,
  type CompactionRate,
  type CompactionWork,
  measuredCompactionRate,
  type PastCompaction,
  timeLeftOf,
  timeOfTask,
} from './index.ts'

const now = Date.UTC(2026, 5, 1)
const interval = parseInterval('2026-01-01/P1D')

const past = (work: CompactionWork | undefined, ended?: PastCompaction['ended']): PastCompaction => ({
  taskId: 'compact_1',
  dataSource: 'wiki',
  interval,
  ended,
  slots: 1,
  configFingerprint: 'c',
  segmentsFingerprint: 's',
  work,
})
const task = (bytes: number, durationMs: number, waitMs = 0): PastCompaction =>
  past({ bytes, waitMs, durationMs }, { succeeded: true, at: now })

describe('the measured speed of compaction', () => {
  const cases: readonly {
    readonly name: string
    readonly tasks: readonly PastCompaction[]
    readonly expected: CompactionRate | undefined
  }[] = [
    {
      name: 'has a part for each task, a part for each byte, and the time until a worker starts the task',
      tasks: [task(1e6, 3000, 200), task(5e6, 7000, 200)],
      expected: { msUntilStart: 200, msPerTask: 2000, msPerByte: 0.001 },
    },
    {
      name: 'ignores a task that started late because its first worker died',
      tasks: [task(1e6, 3000, 100), task(3e6, 5000, 90_000), task(5e6, 7000, 120)],
      expected: { msUntilStart: 120, msPerTask: 2000, msPerByte: 0.001 },
    },
    {
      name: 'assumes the part for each task if all tasks read about the same number of bytes',
      tasks: [task(1.05e6, 6000), task(1e6, 7000), task(0.95e6, 5000)],
      expected: { msUntilStart: 0, msPerTask: 2000, msPerByte: 0.004 },
    },
    {
      name: 'has no part for each byte if a task was faster than what it assumes for each task',
      tasks: [task(1e6, 1500)],
      expected: { msUntilStart: 0, msPerTask: 1500, msPerByte: 0 },
    },
    {
      name: 'has no part for each byte if larger tasks did not take longer',
      tasks: [task(1e6, 3000), task(9e6, 2000)],
      expected: { msUntilStart: 0, msPerTask: 2500, msPerByte: 0 },
    },
    {
      name: 'assumes the part for each task if the time grows faster than the bytes',
      tasks: [task(1e6, 1000), task(3e6, 9000)],
      expected: { msUntilStart: 0, msPerTask: 1000, msPerByte: 0.002 },
    },
    {
      name: 'handles tasks that read nothing',
      tasks: [task(0, 1000), task(0, 3000)],
      expected: { msUntilStart: 0, msPerTask: 1000, msPerByte: 0 },
    },
    {
      name: 'is based on the newest 100 tasks',
      tasks: [
        past({ bytes: 1e9, waitMs: 1, durationMs: 1 }, { succeeded: true, at: now - 1 }),
        ...Array.from({ length: 50 }, () => [task(1e6, 3000), task(5e6, 7000)]).flat(),
      ],
      expected: { msUntilStart: 0, msPerTask: 2000, msPerByte: 0.001 },
    },
    {
      name: 'is unknown without tasks of the scheduler that succeeded',
      tasks: [
        past({ bytes: 100, waitMs: 0, durationMs: 1000 }, { succeeded: false, at: now }),
        past({ bytes: 100, waitMs: 0, durationMs: 1000 }),
        past(undefined, { succeeded: true, at: now }),
      ],
      expected: undefined,
    },
  ]
  for (const { name, tasks, expected } of cases)
    it(name, () => {
      const rate = measuredCompactionRate(tasks)
      assert.deepEqual(rate && rounded(rate), expected)
    })

  const rounded = ({ msUntilStart, msPerTask, msPerByte }: CompactionRate): CompactionRate => ({
    msUntilStart,
    msPerTask: Math.round(msPerTask),
    msPerByte: Number(msPerByte.toFixed(9)),
  })

  it('never predicts a negative time, and never less for more bytes', () => {
    const anyTask = fc
      .tuple(fc.nat(1e9), fc.integer({ min: 1, max: 3_600_000 }), fc.nat(60_000))
      .map(([bytes, durationMs, waitMs]) => task(bytes, durationMs, waitMs))
    fc.assert(
      fc.property(
        fc.array(anyTask, { minLength: 1, maxLength: 20 }),
        fc.nat(1e10),
        fc.nat(1e10),
        (tasks, bytes, more) => {
          const rate = measuredCompactionRate(tasks)!
          const time = timeOfTask(rate, bytes)
          assert.ok(time >= 0 && Number.isFinite(time), String(time))
          assert.ok(timeOfTask(rate, bytes + more) >= time)
        },
      ),
    )
  })
})

describe('the time that a task still takes', () => {
  // A task of 100 bytes waits for 1 s, and runs for 3 s.
  const rate: CompactionRate = { msUntilStart: 1000, msPerTask: 2000, msPerByte: 10 }
  const cases: readonly [name: string, work: CompactionWork | undefined, expected: number][] = [
    ['is all of its time when it is submitted', { bytes: 100, waitMs: 0, durationMs: undefined }, 4000],
    ['is less after a wait', { bytes: 100, waitMs: 400, durationMs: undefined }, 3600],
    ['includes its run after a long wait', { bytes: 100, waitMs: 9000, durationMs: undefined }, 3000],
    [
      'does not depend on how long it waited once it has started',
      { bytes: 100, waitMs: 9000, durationMs: 500 },
      2500,
    ],
    ['is never negative', { bytes: 100, waitMs: 0, durationMs: 9000 }, 0],
    ['is that of each task if a user submitted it', undefined, 2000],
  ]
  for (const [name, work, expected] of cases)
    it(name, () => {
      assert.equal(timeLeftOf(rate, past(work)), expected)
    })
})

it('assumes 2 s for each task and 10 MB/s', () => {
  assert.equal(timeOfTask(assumedCompactionRate, 10_000_000), 3000)
})
