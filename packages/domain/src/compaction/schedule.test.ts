import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { formatInterval, overlaps, parseInterval } from '../time/index.ts'
import { parseClusterConfig, parseCompactionConfig } from './config/index.ts'
import {
  type CompactionCandidate,
  delayAfterFailures,
  type PastCompaction,
  planCompaction,
  type ScheduleInput,
  scheduleCompactions,
  taskToSubmit,
} from './index.ts'
import { testSegment } from './test-segments.ts'

const fingerprints = { config: 'c', segments: 's' }
const now = 1_000_000_000

const candidatesOf = (intervals: readonly string[], config: object = {}): readonly CompactionCandidate[] =>
  planCompaction({
    cluster: parseClusterConfig({}),
    configs: [parseCompactionConfig({ dataSource: 'wiki', skipOffsetFromLatest: 'PT0S', ...config })],
    segmentsOf: () => intervals.map((interval) => testSegment(interval)),
    locks: [],
    workerCapacity: 100,
  }).candidates

const past = (interval: string, ended?: PastCompaction['ended'], more = {}): PastCompaction => ({
  taskId: 'compact_1',
  dataSource: 'wiki',
  interval: parseInterval(interval),
  ended,
  slots: 1,
  configFingerprint: 'c',
  segmentsFingerprint: 's',
  ...more,
})
const failed = (minutesAgo: number) => ({ succeeded: false, at: now - minutesAgo * 60_000 })
const succeeded = (minutesAgo: number) => ({ succeeded: true, at: now - minutesAgo * 60_000 })

const schedule = (
  candidates: readonly CompactionCandidate[],
  slots: number,
  tasks: readonly PastCompaction[],
) => {
  const input: ScheduleInput = { candidates, slots, past: tasks, fingerprintsOf: () => fingerprints, now }
  return scheduleCompactions(input)
}

describe('scheduling compaction tasks', () => {
  const days = ['2026-01-01/P1D', '2026-01-02/P1D', '2026-01-03/P1D']
  const [first, second, third] = days as [string, string, string]
  const cases: readonly {
    name: string
    slots: number
    tasks: readonly PastCompaction[]
    expected: readonly number[]
    postponed?: number
  }[] = [
    { name: 'submits one task per slot, in order', slots: 2, tasks: [], expected: [3, 2] },
    {
      name: 'skips intervals with a running task, which uses a slot',
      slots: 2,
      tasks: [past(third)],
      expected: [2],
    },
    {
      name: 'submits nothing while all slots are in use',
      slots: 2,
      tasks: [past(first, undefined, { slots: 2 })],
      expected: [],
    },
    {
      name: 'postpones a failed interval and submits others immediately',
      slots: 1,
      tasks: [past(third, failed(0.5))],
      expected: [2],
      postponed: 1,
    },
    {
      name: 'retries a failed interval after its delay',
      slots: 1,
      tasks: [past(third, failed(1))],
      expected: [3],
    },
    {
      name: 'doubles the delay after two failures',
      slots: 1,
      tasks: [past(third, failed(1.5)), past(third, failed(9))],
      expected: [2],
      postponed: 1,
    },
    {
      name: 'retries a failed interval immediately after a success',
      slots: 1,
      tasks: [past(third, succeeded(0), { segmentsFingerprint: 'others' }), past(third, failed(9))],
      expected: [3],
    },
    {
      name: 'treats a success without changes like a failure',
      slots: 1,
      tasks: [past(third, succeeded(0.1))],
      expected: [2],
      postponed: 1,
    },
    {
      name: 'retries immediately if the configuration has changed since the failure',
      slots: 1,
      tasks: [past(third, failed(0), { configFingerprint: 'other' })],
      expected: [3],
    },
    {
      name: 'skips intervals that a longer running task covers',
      slots: 3,
      tasks: [past(`${second.slice(0, 10)}/P2D`)],
      expected: [1],
    },
  ]
  for (const { name, slots, tasks, expected, postponed = 0 } of cases) {
    it(name, () => {
      const found = schedule(candidatesOf(days), slots, tasks)
      const daysOf = found.submissions.map(({ candidate }) =>
        Number(formatInterval(candidate.interval).slice(8, 10)),
      )
      assert.deepEqual([daysOf, found.postponed.length], [expected, postponed])
    })
  }

  it('limits the delay to one hour', () => {
    assert.deepEqual(
      [1, 2, 3, 7, 60].map(delayAfterFailures),
      [60_000, 120_000, 240_000, 3_600_000, 3_600_000],
    )
  })
})

describe('properties', () => {
  const starts = fc.uniqueArray(fc.integer({ min: 1, max: 20 }), { maxLength: 8 })
  const interval = (day: number, length: number) => `2026-01-${String(day).padStart(2, '0')}/P${length}D`

  it('never runs two tasks for overlapping intervals, and never exceeds the slots', () => {
    const running = fc.array(fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 6 })), {
      maxLength: 3,
    })
    fc.assert(
      fc.property(starts, starts, running, fc.integer({ min: 0, max: 6 }), (short, long, tasks, slots) => {
        const candidates = candidatesOf([
          ...short.map((day) => interval(day, 1)),
          ...long.map((day) => interval(day, 3)),
        ])
        const under = tasks.map(([day, length]) => past(interval(day, length)))
        const { submissions, slotsTaken } = schedule(candidates, slots, under)
        const all = [
          ...under.map((task) => task.interval),
          ...submissions.map(({ candidate }) => candidate.compactionInterval),
        ]
        for (const [index, one] of all.entries()) {
          if (index < under.length) continue
          assert.ok(all.slice(0, index).every((other) => !overlaps(one, other)))
        }
        assert.ok(submissions.reduce((sum, one) => sum + one.slots, 0) <= Math.max(0, slots - slotsTaken))
      }),
    )
  })

  it('compacts other intervals while some always fail', () => {
    fc.assert(
      fc.property(fc.subarray([1, 2, 3, 4, 5, 6]), (failing) => {
        const tasks: PastCompaction[] = []
        const done = new Set<number>()
        let clock = now
        for (let round = 0; round < 20; round++) {
          const open = [1, 2, 3, 4, 5, 6].filter((day) => !done.has(day)).map((day) => interval(day, 1))
          const { submissions } = scheduleCompactions({
            candidates: candidatesOf(open),
            slots: 1,
            past: tasks,
            fingerprintsOf: () => fingerprints,
            now: clock,
          })
          for (const { candidate } of submissions) {
            const day = Number(formatInterval(candidate.interval).slice(8, 10))
            const isFailing = failing.includes(day)
            tasks.push(past(interval(day, 1), { succeeded: !isFailing, at: clock }))
            if (!isFailing) done.add(day)
          }
          clock += 5000
        }
        assert.equal(done.size, 6 - failing.length)
      }),
    )
  })
})

describe('the compaction task', () => {
  it('contains the configuration of the datasource', () => {
    const config = parseCompactionConfig({
      dataSource: 'wiki',
      skipOffsetFromLatest: 'PT0S',
      maxRowsPerSegment: 7,
      taskPriority: 9,
      taskContext: { note: 'x' },
      granularitySpec: { segmentGranularity: 'MONTH' },
    })
    const [candidate] = candidatesOf(['2026-01-03/P1D'], { granularitySpec: { segmentGranularity: 'MONTH' } })
    const origin = {
      slots: 1,
      bytes: 100,
      configFingerprint: 'c',
      segmentsFingerprint: 's',
      reason: 'not compacted yet',
    }
    assert.deepEqual(taskToSubmit('id', candidate!, config, 'native', origin), {
      type: 'compact',
      id: 'id',
      dataSource: 'wiki',
      ioConfig: {
        type: 'compact',
        inputSpec: { type: 'interval', interval: '2026-01-01T00:00:00.000Z/2026-02-01T00:00:00.000Z' },
        dropExisting: false,
      },
      granularitySpec: { segmentGranularity: 'MONTH' },
      dimensionsSpec: null,
      metricsSpec: null,
      transformSpec: null,
      tuningConfig: { partitionsSpec: { type: 'dynamic', maxRowsPerSegment: 7 } },
      context: { note: 'x', priority: 9, storeCompactionState: true, compaction: origin },
    })
  })
})
