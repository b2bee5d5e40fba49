import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { finish } from '../steps/index.ts'
import { formatInterval, type Interval, parseInterval } from '../time/index.ts'
import { parseClusterConfig, parseCompactionConfig } from './config/index.ts'
import {
  assemblePlan,
  type CompactionPlan,
  type CompactionRate,
  type CompactionSegment,
  compareConfigs,
  comparePlans,
  forecastCompaction,
  type LockedInterval,
  type PastCompaction,
  planCompaction,
  scheduleCompactions,
  searchDatasource,
  stateAfter,
  totalsOfRuns,
} from './index.ts'
import { testSegment } from './test-segments.ts'

const now = Date.UTC(2026, 5, 1)
const periodMs = 10_000
// 1 s for each task, and 10 ms for each byte.
const rate: CompactionRate = { msUntilStart: 400, msPerTask: 600, msPerByte: 10 }
const fingerprintsOf = () => ({ config: 'c', segments: 's' })
const config = parseCompactionConfig({
  dataSource: 'wiki',
  skipOffsetFromLatest: 'PT0S',
  maxRowsPerSegment: 1_000_000,
})
const clusterWith = (slots: number, policy: object = { type: 'newestSegmentFirst' }) =>
  parseClusterConfig({
    compactionTaskSlotRatio: 1,
    maxCompactionTaskSlots: slots,
    compactionPolicy: policy,
  })

const planOf = (
  segments: readonly CompactionSegment[],
  cluster = clusterWith(1),
  locks: readonly LockedInterval[] = [],
): CompactionPlan =>
  planCompaction({ cluster, configs: [config], segmentsOf: () => segments, locks, workerCapacity: 100 })

const forecast = (plan: CompactionPlan, past: readonly PastCompaction[] = []) =>
  finish(forecastCompaction({ plan, past, fingerprintsOf, now, rate, periodMs, untilNextRunMs: periodMs }))

const dayOf = (index: number): Interval => {
  const start = Date.UTC(2026, 0, 1 + index)
  return { start, end: start + 86_400_000 }
}

const past = (interval: Interval, more: Partial<PastCompaction>): PastCompaction => ({
  taskId: 'compact_1',
  dataSource: 'wiki',
  interval,
  ended: undefined,
  slots: 1,
  configFingerprint: 'c',
  segmentsFingerprint: 's',
  ...more,
})

/** The submissions of a forecast, in the order of time. */
const submissionsOf = ({ runs }: ReturnType<typeof forecast>) =>
  runs.flatMap(({ at, tasks }) =>
    tasks.map(({ candidate, slots }) => [(at - now) / 1000, formatInterval(candidate.interval), slots]),
  )

/**
 * Does what a cluster does: in each run, plans for the segments of that time, submits tasks, and replaces the segments of
 * tasks that have ended.
 */
function runCluster(
  start: readonly CompactionSegment[],
  cluster: ReturnType<typeof clusterWith>,
  runs: number,
) {
  let segments = start
  let running: { readonly interval: Interval; readonly slots: number; readonly endsAt: number }[] = []
  const submitted: unknown[] = []
  for (let run = 1; run <= runs; run += 1) {
    const at = now + run * periodMs
    for (const { interval } of running.filter(({ endsAt }) => endsAt <= at)) {
      const rewritten = segments.filter((segment) => segment.interval.start === interval.start)
      segments = [
        ...segments.filter((segment) => segment.interval.start !== interval.start),
        testSegment(interval, {
          version: '2',
          sizeBytes: rewritten.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
          lastCompactionState: stateAfter(config),
        }),
      ]
    }
    running = running.filter(({ endsAt }) => endsAt > at)
    const locks = running.map(({ interval }) => ({ dataSource: 'wiki', interval, taskId: 'compact_1' }))
    const plan = planOf(segments, cluster, locks)
    const tasks = running.map(({ interval, slots }) => past(interval, { slots }))
    const { submissions } = scheduleCompactions({ ...plan, past: tasks, fingerprintsOf, now: at })
    for (const { candidate, slots } of submissions) {
      submitted.push([run * 10, formatInterval(candidate.interval), slots])
      const endsAt = at + 1000 + 10 * candidate.figures.bytes
      running.push({ interval: candidate.compactionInterval, slots, endsAt })
    }
  }
  return submitted
}

describe('the forecast of compaction', () => {
  const daily = [0, 1, 2].map((index) => testSegment(dayOf(index), { sizeBytes: 1500 }))

  it('submits tasks when slots become free, at the times of runs', () => {
    const found = forecast(planOf(daily))
    // Each task takes 16 s, so every second run submits one.
    assert.deepEqual(
      submissionsOf(found),
      [
        [10, dayOf(2)],
        [30, dayOf(1)],
        [50, dayOf(0)],
      ].map(([at, interval]) => [at, formatInterval(interval as Interval), 1]),
    )
    assert.deepEqual(totalsOfRuns(found.runs), {
      tasks: 3,
      segments: 3,
      bytes: 4500,
      slotMs: 48_000,
      endsAt: now + 66_000,
    })
  })

  it('waits for running tasks, and for intervals that failed', () => {
    const running = past(parseInterval('2020-01-01/P1D'), {
      work: { bytes: 2500, waitMs: 0, durationMs: 20_000 },
    })
    const failed = past(dayOf(2), { ended: { succeeded: false, at: now - 1000 } })
    const found = forecast(planOf(daily), [running, failed])
    assert.deepEqual(
      submissionsOf(found).map(([at, interval]) => [at, interval]),
      [
        [10, formatInterval(dayOf(1))],
        [30, formatInterval(dayOf(0))],
        // 60 s after the failure.
        [60, formatInterval(dayOf(2))],
      ],
    )
    assert.deepEqual(
      [...found.postponed.keys()].map(({ interval }) => interval),
      [dayOf(2)],
    )
  })

  it('never submits jobs that need more slots than there are', () => {
    const plan = planOf(daily, parseClusterConfig({ compactionTaskSlotRatio: 0 }))
    const { runs, tooFewSlots } = forecast(plan)
    assert.deepEqual([runs.length, tooFewSlots.length], [0, 3])
    assert.deepEqual(totalsOfRuns(runs), { tasks: 0, segments: 0, bytes: 0, slotMs: 0, endsAt: undefined })
  })

  it('is done no earlier with more bytes, and no later with more slots', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 4000 }), { minLength: 1, maxLength: 12 })
    const endOf = (bytes: readonly number[], slots: number): number => {
      const segments = bytes.map((sizeBytes, index) => testSegment(dayOf(index), { sizeBytes }))
      const { tasks, endsAt } = totalsOfRuns(forecast(planOf(segments, clusterWith(slots))).runs)
      assert.equal(tasks, bytes.length)
      return endsAt!
    }
    fc.assert(
      fc.property(
        sizes,
        fc.integer({ min: 1, max: 5 }),
        fc.nat(11),
        fc.nat(5000),
        (bytes, slots, at, more) => {
          const endsAt = endOf(bytes, slots)
          const larger = bytes.map((size, index) => (index === at % bytes.length ? size + more : size))
          assert.ok(endOf(larger, slots) >= endsAt)
          assert.ok(endOf(bytes, slots + 1) <= endsAt)
        },
      ),
    )
  })

  const policies = [
    { type: 'newestSegmentFirst' },
    { type: 'mostFragmentedFirst', minUncompactedCount: 1, minUncompactedBytes: 1 },
    {
      type: 'fixedIntervalOrder',
      eligibleCandidates: [3, 0, 5, 1].map((index) => ({
        datasource: 'wiki',
        interval: formatInterval(dayOf(index)),
      })),
    },
  ]
  for (const policy of policies)
    it(`is what a cluster then does with ${policy.type}`, () => {
      const days = fc.array(fc.record({ count: fc.nat(3), sizeBytes: fc.integer({ min: 1, max: 4000 }) }), {
        minLength: 1,
        maxLength: 7,
      })
      fc.assert(
        fc.property(days, fc.integer({ min: 1, max: 4 }), (sizes, slots) => {
          const segments = sizes.flatMap(({ count, sizeBytes }, index) =>
            Array.from({ length: count }, (_, partitionNum) =>
              testSegment(dayOf(index), { partitionNum, partitions: count, sizeBytes }),
            ),
          )
          const cluster = clusterWith(slots, policy)
          const found = forecast(planOf(segments, cluster))
          const runs = found.runs.length === 0 ? 10 : (found.runs.at(-1)!.at - now) / periodMs + 10
          assert.deepEqual(submissionsOf(found), runCluster(segments, cluster, runs))
        }),
        { numRuns: 200, seed: 7 },
      )
    })
})

describe('the comparison of plans', () => {
  const compared = (json: object, cluster = clusterWith(4)) => {
    const parsed = parseCompactionConfig({ dataSource: 'wiki', skipOffsetFromLatest: 'PT0S', ...json })
    const segments = [0, 1].map((index) =>
      testSegment(dayOf(index), {
        sizeBytes: index === 0 ? 900 : 100,
        lastCompactionState: stateAfter(config),
      }),
    )
    const findings = finish(searchDatasource(parsed, segments, []))
    return {
      plan: finish(assemblePlan(cluster, 4, [findings])),
      findings: new Map([[parsed.dataSource, findings]]),
    }
  }
  const base = compared({ maxRowsPerSegment: 1_000_000 })
  const differences = (other: ReturnType<typeof compared>) =>
    finish(comparePlans(base, other)).map(({ interval, before, after }) => [
      formatInterval(interval),
      before,
      after,
    ])
  const [first, second] = [0, 1].map((index) => formatInterval(dayOf(index)))

  it('finds no difference between equal plans', () => {
    const same = compared({ maxRowsPerSegment: 1_000_000 })
    assert.deepEqual([differences(same), finish(compareConfigs(base, same))], [[], []])
  })

  it('names intervals that another configuration rewrites or skips, and the fields that differ', () => {
    const other = compared({ maxRowsPerSegment: 5, inputSegmentSizeBytes: 500 })
    assert.deepEqual(differences(other), [
      [first, 'UP_TO_DATE', 'INPUT_TOO_LARGE'],
      [second, 'UP_TO_DATE', 'COMPACTED'],
    ])
    assert.deepEqual(finish(compareConfigs(base, other)), [
      {
        dataSource: 'wiki',
        fields: ['inputSegmentSizeBytes', 'maxRowsPerSegment'],
        isConfiguredBefore: true,
        isConfiguredAfter: true,
      },
    ])
  })

  it('names datasources that only one plan configures, and intervals that only one plan has', () => {
    const none = { plan: finish(assemblePlan(clusterWith(4), 4, [])), findings: new Map() }
    assert.deepEqual(differences(none), [
      [first, 'UP_TO_DATE', 'NOT_CONFIGURED'],
      [second, 'UP_TO_DATE', 'NOT_CONFIGURED'],
    ])
    assert.deepEqual(finish(compareConfigs(base, none)), [
      { dataSource: 'wiki', fields: [], isConfiguredBefore: true, isConfiguredAfter: false },
    ])
    for (const [segmentGranularity, end] of [
      ['MONTH', '2026-02-01'],
      ['YEAR', '2027-01-01'],
    ]) {
      assert.deepEqual(differences(compared({ granularitySpec: { segmentGranularity } })), [
        [first, 'UP_TO_DATE', 'OTHER_INTERVALS'],
        [`2026-01-01T00:00:00.000Z/${end}T00:00:00.000Z`, 'OTHER_INTERVALS', 'COMPACTED'],
        [second, 'UP_TO_DATE', 'OTHER_INTERVALS'],
      ])
    }
  })
})
