import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { finish } from '../steps/index.ts'
import { eternity, type Interval } from '../time/index.ts'
import { parseClusterConfig, parseCompactionConfig } from './config/index.ts'
import {
  assemblePlan,
  type CompactionSegment,
  explainCompaction,
  forecastCompaction,
  type PastCompaction,
  scheduleCompactions,
  searchDatasource,
  stateAfter,
} from './index.ts'
import { testSegment } from './test-segments.ts'

const day = 86_400_000
const now = Date.UTC(2026, 1, 1)
const periodMs = 10_000
const maxBytes = 1000

/** The states that a test can give to a day's segments. */
const conditions = [
  'compacted',
  'uncompacted',
  'large',
  'empty',
  'locked',
  'failed',
  'failedLongAgo',
] as const
type Condition = (typeof conditions)[number]

const arbitraryState: fc.Arbitrary<State> = fc.record({
  days: fc.array(
    fc.record({ condition: fc.constantFrom(...conditions), count: fc.integer({ min: 1, max: 3 }) }),
    {
      minLength: 1,
      maxLength: 10,
    },
  ),
  skippedDays: fc.integer({ min: 0, max: 2 }),
  hasGranularity: fc.boolean(),
  policy: fc.constantFrom('newestSegmentFirst', 'fixedIntervalOrder', 'mostFragmentedFirst'),
  slots: fc.integer({ min: 0, max: 4 }),
  slotsOfOthers: fc.integer({ min: 0, max: 2 }),
})

interface State {
  readonly days: readonly { readonly condition: Condition; readonly count: number }[]
  readonly skippedDays: number
  readonly hasGranularity: boolean
  readonly policy: string
  readonly slots: number
  readonly slotsOfOthers: number
}

const intervalOf = (index: number): Interval => ({
  start: Date.UTC(2026, 0, 1) + index * day,
  end: Date.UTC(2026, 0, 2) + index * day,
})

const pastOf = (interval: Interval, agoMs: number): PastCompaction => ({
  taskId: 'compact_1',
  dataSource: 'wiki',
  interval,
  ended: { succeeded: false, at: now - agoMs },
  slots: 1,
  configFingerprint: 'c',
  segmentsFingerprint: 's',
})

/** Derives the code of each day from the state that the test gave it, without the planner. */
function expectedCodes({ days, skippedDays, policy, slots, slotsOfOthers }: State): string[] {
  let free = slots - slotsOfOthers
  const codes = days.map(({ condition, count }, index): string => {
    if (index >= days.length - skippedDays) return 'SKIP_OFFSET_FROM_LATEST'
    if (condition === 'empty') return 'NO_DATA_IN_SEGMENTS'
    if (condition === 'large') return 'INPUT_TOO_LARGE'
    if (condition === 'compacted') return 'UP_TO_DATE'
    if (condition === 'locked') return 'INTERVAL_LOCKED'
    if (policy === 'fixedIntervalOrder' && index % 2 === 1) return 'NOT_LISTED'
    if (policy === 'mostFragmentedFirst' && count < 2) return 'TOO_FEW_UNCOMPACTED_SEGMENTS'
    if (slots === 0) return 'TOO_FEW_SLOTS'
    return condition === 'failed' ? 'RETRIED_LATER' : 'queued'
  })
  const order = codes.flatMap((code, index) => (code === 'queued' ? [index] : []))
  // More segments make an interval more fragmented; the newest comes first among equals.
  order.sort((a, b) => (policy === 'mostFragmentedFirst' ? days[b]!.count - days[a]!.count || b - a : b - a))
  if (policy === 'fixedIntervalOrder') order.sort((a, b) => a - b)
  for (const index of order) codes[index] = free-- > 0 ? 'NEXT' : 'WAITING'
  return codes
}

function explainedState({ days, skippedDays, hasGranularity, policy, slots, slotsOfOthers }: State) {
  const config = parseCompactionConfig({
    dataSource: 'wiki',
    skipOffsetFromLatest: `P${skippedDays}D`,
    inputSegmentSizeBytes: maxBytes,
    maxRowsPerSegment: 1_000_000,
    ...(hasGranularity ? { granularitySpec: { segmentGranularity: 'DAY' } } : {}),
  })
  const listed = days.flatMap((_, index) =>
    index % 2 === 0 ? [{ datasource: 'wiki', interval: isoOf(intervalOf(index)) }] : [],
  )
  const cluster = parseClusterConfig({
    compactionTaskSlotRatio: slots === 0 ? 0 : 1,
    maxCompactionTaskSlots: Math.max(slots, 1),
    compactionPolicy: {
      type: policy,
      ...(policy === 'fixedIntervalOrder' ? { eligibleCandidates: listed } : {}),
      // The weight of the average size is negligible, so the number of segments decides.
      ...(policy === 'mostFragmentedFirst'
        ? { minUncompactedCount: 2, minUncompactedBytes: 1, maxAverageUncompactedBytesPerSegment: 2000 }
        : {}),
    },
  })
  const segments = days.flatMap(({ condition, count }, index) =>
    Array.from(
      { length: count },
      (_, partitionNum): CompactionSegment =>
        testSegment(intervalOf(index), {
          partitionNum,
          partitions: count,
          sizeBytes: condition === 'empty' ? 0 : condition === 'large' ? maxBytes + 1 : 100,
          ...(condition === 'compacted' ? { lastCompactionState: stateAfter(config) } : {}),
        }),
    ),
  )
  const intervalsWith = (wanted: Condition): Interval[] =>
    days.flatMap(({ condition }, index) => (condition === wanted ? [intervalOf(index)] : []))
  const locks = intervalsWith('locked').map((interval) => ({
    dataSource: 'wiki',
    interval,
    taskId: 'index_1',
  }))
  const running: PastCompaction = {
    ...pastOf(intervalOf(0), 0),
    dataSource: 'other',
    ended: undefined,
    slots: slotsOfOthers,
  }
  const past = [
    ...intervalsWith('failed').map((interval) => pastOf(interval, 30_000)),
    ...intervalsWith('failedLongAgo').map((interval) => pastOf(interval, 7_200_000)),
    ...(slotsOfOthers > 0 ? [running] : []),
  ]
  const findings = finish(searchDatasource(config, segments, locks))
  const plan = finish(assemblePlan(cluster, 4, [findings]))
  const times = { past, fingerprintsOf: () => ({ config: 'c', segments: 's' }), now }
  const rate = { msUntilStart: 0, msPerTask: 1000, msPerByte: 0 }
  const schedule = scheduleCompactions({ candidates: plan.candidates, slots: plan.slots, ...times })
  const forecast = finish(forecastCompaction({ ...times, plan, rate, periodMs, untilNextRunMs: periodMs }))
  return { plan, findings, schedule, forecast }
}

const isoOf = ({ start, end }: Interval): string =>
  `${new Date(start).toISOString()}/${new Date(end).toISOString()}`

it('names the cause of each interval in 500 random states, and agrees with the decision', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(arbitraryState, (state) => {
      const explained = explainedState(state)
      const found = explainCompaction(explained, eternity)
      assert.deepEqual(
        found.map(({ interval, code }) => [isoOf(interval), code]),
        expectedCodes(state).map((code, index) => [isoOf(intervalOf(index)), code]),
      )
      const submitted = new Set(
        explained.schedule.submissions.map(({ candidate }) => candidate.interval.start),
      )
      for (const { interval, code, reason, doneAt } of found) {
        seen.add(code)
        assert.ok(reason.length > 0)
        assert.equal(code === 'NEXT', submitted.has(interval.start))
        assert.equal(doneAt !== undefined, ['NEXT', 'WAITING', 'RETRIED_LATER'].includes(code))
      }
    }),
    { numRuns: 500, seed: 21 },
  )
  assert.equal(seen.size, 11, [...seen].join())
})
