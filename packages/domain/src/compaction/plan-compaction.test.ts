import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { bucketOf, eternity, formatInterval, type Granularity, parseInterval } from '../time/index.ts'
import { analyzeTimeline } from '../timeline/index.ts'
import { parseClusterConfig, parseCompactionConfig } from './config/index.ts'
import {
  addFigures,
  type CompactionPlan,
  type CompactionProgress,
  type CompactionSegment,
  fragmentationIndex,
  type LockedInterval,
  noFigures,
  placeInList,
  planCompaction,
  stateAfter,
} from './index.ts'
import { testSegment } from './test-segments.ts'

const plan = (
  segments: readonly CompactionSegment[],
  configs: readonly object[],
  { cluster = {}, locks = [] as readonly LockedInterval[], workerCapacity = 10 } = {},
): CompactionPlan =>
  planCompaction({
    cluster: parseClusterConfig(cluster),
    configs: configs.map((config) => parseCompactionConfig({ dataSource: 'wiki', ...config })),
    segmentsOf: (dataSource) => segments.filter((segment) => segment.dataSource === dataSource),
    locks,
    workerCapacity,
  })

const shown = ({ candidates, skipped }: CompactionPlan): string[] =>
  [
    ...candidates.map(({ interval, reason }) => `take ${formatInterval(interval)}: ${reason}`),
    ...skipped.map(({ interval, code, reason }) => `${code} ${formatInterval(interval)}: ${reason}`),
  ].map((text) => text.replaceAll('T00:00:00.000Z', ''))
const none = { skipOffsetFromLatest: 'PT0S' }

describe('planning compaction', () => {
  const first = testSegment('2026-01-01/P1D')
  const second = testSegment('2026-01-02/P1D')
  const cases: readonly {
    name: string
    segments: readonly CompactionSegment[]
    config: object
    locks?: readonly LockedInterval[]
    expected: readonly string[]
  }[] = [
    { name: 'plans nothing without data', segments: [], config: {}, expected: [] },
    {
      name: 'skips the latest day by default',
      segments: [first, second],
      config: {},
      expected: [
        'take 2026-01-01/2026-01-02: not compacted yet',
        'SKIP_OFFSET_FROM_LATEST 2026-01-02/2026-01-03: overlaps [2026-01-02/2026-01-03], which skipOffsetFromLatest [P1D] excludes',
      ],
    },
    {
      name: 'skips the entire latest month with segmentGranularity [MONTH]',
      segments: [testSegment('2025-12-31/P1D'), first],
      config: { granularitySpec: { segmentGranularity: 'MONTH' } },
      expected: [
        'take 2025-12-31/2026-01-01: not compacted yet',
        'SKIP_OFFSET_FROM_LATEST 2026-01-01/2026-01-02: overlaps [2026-01-01/2026-02-01], which skipOffsetFromLatest [P1D] excludes',
      ],
    },
    {
      name: 'skips intervals with more than inputSegmentSizeBytes',
      segments: [first, testSegment('2026-01-02/P1D', { sizeBytes: 101 })],
      config: { ...none, inputSegmentSizeBytes: 100 },
      expected: [
        'take 2026-01-01/2026-01-02: not compacted yet',
        'INPUT_TOO_LARGE 2026-01-02/2026-01-03: total segment size [101] bytes exceeds inputSegmentSizeBytes [100]',
      ],
    },
    {
      name: 'skips buckets that a running task has locked, even partially',
      segments: [first, testSegment('2026-02-01/P1D')],
      config: { ...none, granularitySpec: { segmentGranularity: 'MONTH' } },
      locks: [
        { dataSource: 'wiki', interval: parseInterval('2026-01-20/P1D'), taskId: 'index' },
        { dataSource: 'other', interval: eternity, taskId: 'elsewhere' },
      ],
      expected: [
        'take 2026-02-01/2026-02-02: not compacted yet',
        'INTERVAL_LOCKED 2026-01-01/2026-01-02: task [index] holds a lock on [2026-01-20/2026-01-21]',
      ],
    },
    {
      name: 'skips eternity with a finite segmentGranularity',
      segments: [testSegment(eternity), testSegment('2026-01-01/P1D', { version: '2' })],
      config: { ...none, granularitySpec: { segmentGranularity: 'DAY' } },
      expected: [
        'PARTIAL_ETERNITY -146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z: the datasource has segments with unbounded intervals, which cannot be split into buckets',
        'PARTIAL_ETERNITY 2026-01-01/2026-01-02: the datasource has segments with unbounded intervals, which cannot be split into buckets',
      ],
    },
    {
      name: 'skips segments without data',
      segments: [testSegment('2026-01-01/P1D', { sizeBytes: 0 })],
      config: none,
      expected: ['NO_DATA_IN_SEGMENTS 2026-01-01/2026-01-02: segments contain no data'],
    },
    {
      name: 'skips buckets that a segment of the latest data overlaps',
      segments: [testSegment('2026-01-01/P2D'), testSegment('2026-01-01T00:00/PT1H', { version: '2' })],
      config: { skipOffsetFromLatest: 'P1D', granularitySpec: { segmentGranularity: 'DAY' } },
      expected: [
        'SKIP_OFFSET_FROM_LATEST 2026-01-01/2026-01-03: overlaps [2026-01-02/2026-01-03], which skipOffsetFromLatest [P1D] excludes',
        'BUCKET_NOT_WHOLE 2026-01-01/2026-01-01T01:00:00.000Z: shares a segmentGranularity bucket with a segment that skipOffsetFromLatest excludes',
      ],
    },
    {
      name: 'ignores incomplete and overshadowed segments',
      segments: [
        first,
        testSegment('2026-01-01/P1D', { version: '2' }),
        testSegment('2026-01-02/P1D', { partitions: 2 }),
      ],
      config: none,
      expected: ['take 2026-01-01/2026-01-02: not compacted yet'],
    },
  ]
  for (const { name, segments, config, locks = [], expected } of cases) {
    it(name, () => assert.deepEqual(shown(plan(segments, [config], { locks })), expected))
  }

  it('compacts eternity without segmentGranularity or with [ALL]', () => {
    for (const granularitySpec of [null, { segmentGranularity: 'ALL' }]) {
      const { candidates } = plan([testSegment(eternity)], [{ ...none, granularitySpec }])
      assert.deepEqual(
        candidates.map(({ compactionInterval }) => compactionInterval),
        [eternity],
      )
    }
  })

  it('returns totals of 0 for a configured datasource without data', () => {
    assert.deepEqual(plan([], [{}]).progress.get('wiki'), {
      compacted: noFigures,
      skipped: noFigures,
      awaiting: noFigures,
      ineligible: noFigures,
      leftOut: noFigures,
    })
  })

  it('returns one candidate for a year with segmentGranularity [SECOND]', () => {
    const startedAt = process.threadCpuUsage()
    const { candidates } = plan(
      [testSegment('2026-01-01/P1Y')],
      [{ ...none, granularitySpec: { segmentGranularity: 'SECOND' } }],
    )
    assert.equal(candidates.length, 1)
    // CPU time, because other programs may use the processors as well.
    assert.ok(process.threadCpuUsage(startedAt).user < 1_000_000)
  })
})

describe('properties', () => {
  const dayMs = 86_400_000
  const granularity = fc.constantFrom(undefined, 'HOUR', 'DAY', 'WEEK', 'MONTH')
  const policy = fc.constantFrom<object>(
    { type: 'newestSegmentFirst' },
    { type: 'newestSegmentFirst', priorityDatasource: 'b' },
    {
      type: 'mostFragmentedFirst',
      minUncompactedCount: 2,
      minUncompactedBytes: 120,
      maxAverageUncompactedBytesPerSegment: 90,
    },
    {
      type: 'mostFragmentedFirst',
      minUncompactedCount: 1,
      minUncompactedBytes: 1,
      maxAverageUncompactedBytesPerSegment: 3,
      priorityDatasource: 'a',
    },
    {
      type: 'fixedIntervalOrder',
      eligibleCandidates: [
        { datasource: 'b', interval: '1970-01-05/P10D' },
        { datasource: 'a', interval: '1970-01-01/P1M' },
      ],
    },
  )
  const config = fc
    .record({
      segmentGranularity: granularity,
      skipOffsetFromLatest: fc.constantFrom('PT0S', 'PT30H', 'P5D'),
      inputSegmentSizeBytes: fc.constantFrom(150, 100_000),
    })
    .map(({ segmentGranularity, ...more }) => ({ ...more, granularitySpec: { segmentGranularity } }))
  const segmentsOf = (lengthMs: fc.Arbitrary<number>, unitMs: number) =>
    fc
      .array(
        fc.record({
          dataSource: fc.constantFrom('a', 'b'),
          start: fc.nat(Math.floor((50 * dayMs) / unitMs)),
          lengthMs,
          version: fc.constantFrom('1', '2', '3'),
          count: fc.integer({ min: 1, max: 3 }),
          sizeBytes: fc.integer({ min: 1, max: 100 }),
        }),
        { maxLength: 15 },
      )
      .map((groups) => {
        const unique = new Map(
          groups.map((group) => [
            `${group.dataSource} ${group.start} ${group.lengthMs} ${group.version}`,
            group,
          ]),
        )
        return [...unique.values()].flatMap(({ start, lengthMs: length, count, ...more }) =>
          Array.from({ length: count }, (_, partitionNum) =>
            testSegment(
              { start: start * unitMs, end: start * unitMs + length },
              { ...more, partitionNum, partitions: count },
            ),
          ),
        )
      })
  const anySegments = segmentsOf(fc.constantFrom(3_600_000, dayMs, 40 * 3_600_000, 33 * dayMs), 3_600_000)
  const daySegments = segmentsOf(fc.constant(dayMs), dayMs)
  const bothConfigs = fc.tuple(config, config).map(([a, b]) => [
    { ...a, dataSource: 'a' },
    { ...b, dataSource: 'b' },
  ])

  /** Returns the segments after a task has compacted a candidate. */
  function compact(
    segments: readonly CompactionSegment[],
    candidate: CompactionPlan['candidates'][number],
    configJson: object,
    version: string,
  ): CompactionSegment[] {
    const parsed = parseCompactionConfig(configJson)
    const { compactionInterval, dataSource } = candidate
    const cut = parsed.granularitySpec?.segmentGranularity as Granularity | null
    const written: CompactionSegment[] = []
    for (let { start } = compactionInterval; start < compactionInterval.end; ) {
      const interval = cut === null ? compactionInterval : bucketOf(cut, start)
      written.push(testSegment(interval, { dataSource, version, lastCompactionState: stateAfter(parsed) }))
      start = interval.end
    }
    const all = [...segments.filter((segment) => segment.dataSource === dataSource), ...written]
    const { overshadowed } = analyzeTimeline(all)
    return [
      ...segments.filter((segment) => segment.dataSource !== dataSource),
      ...all.filter((_, index) => !overshadowed[index]),
    ]
  }

  it('never returns an interval again after its compaction', () => {
    fc.assert(
      fc.property(anySegments, bothConfigs, policy, (given, configs, compactionPolicy) => {
        let segments: readonly CompactionSegment[] = given
        const seen = (): CompactionPlan => plan(segments, configs, { cluster: { compactionPolicy } })
        let next = seen().candidates.find(({ eligible }) => eligible)
        for (let round = 10; next !== undefined; round++) {
          assert.ok(round < 200, 'compaction did not end')
          const of = configs.find(({ dataSource }) => dataSource === next?.dataSource) as object
          const { interval, dataSource } = next
          segments = compact(segments, next, of, String(round).padStart(4, '4'))
          const after = seen()
          const again = after.candidates.find(
            (one) =>
              one.dataSource === dataSource && formatInterval(one.interval) === formatInterval(interval),
          )
          assert.equal(again, undefined)
          next = after.candidates.find(({ eligible }) => eligible)
        }
      }),
      { numRuns: 150 },
    )
  })

  it('counts each visible segment once: compacted, skipped, awaiting, ineligible, or left out', () => {
    const states = fc.array(fc.boolean(), { minLength: 60, maxLength: 60 })
    fc.assert(
      fc.property(
        fc.oneof(anySegments, daySegments),
        config,
        policy,
        states,
        fc.boolean(),
        (given, json, compactionPolicy, isCompacted, isLocked) => {
          const configJson = { ...json, dataSource: 'a' }
          const lastCompactionState = stateAfter(parseCompactionConfig(configJson))
          const segments = given.map((segment, index) =>
            isCompacted[index % isCompacted.length] ? { ...segment, lastCompactionState } : segment,
          )
          const own = segments.filter(({ dataSource }) => dataSource === 'a')
          const shown = new Set(analyzeTimeline(own).visible.flatMap(({ segments: indexes }) => indexes))
          const sizes = [...shown].map((index) => (own[index] as CompactionSegment).sizeBytes)
          const intervals = new Set([...shown].map((index) => formatInterval(own[index]!.interval)))
          const locks = isLocked
            ? [{ dataSource: 'a', interval: parseInterval('1970-01-10/P10D'), taskId: 'it' }]
            : []
          const { counts, progress, candidates } = plan(segments, [configJson], {
            cluster: { compactionPolicy },
            locks,
          })
          const { compacted, skipped, awaiting, ineligible, leftOut } = counts.get('a') as CompactionProgress
          const sum = [compacted, skipped, awaiting, ineligible, leftOut].reduce((all, more) =>
            addFigures(all, more),
          )
          const bytes = sizes.reduce((all, more) => all + more, 0)
          assert.deepEqual(sum, { bytes, segments: shown.size, intervals: intervals.size })
          // Segments that await compaction are the segments that tasks will read.
          const read = new Set(
            candidates.flatMap((one) => (one.eligible ? one.segments.map(({ id }) => id) : [])),
          )
          assert.ok(awaiting.segments >= read.size)
          assert.ok(awaiting.segments === 0 || read.size > 0)
          assert.ok(compacted.bytes <= (progress.get('a') as CompactionProgress).compacted.bytes)
        },
      ),
      { numRuns: 1000 },
    )
  })

  it('counts a segment in many buckets once in counts, and once per bucket in progress, like Druid 37', () => {
    const months = ['2001-01-01/P1M', '2001-02-01/P1M', '2001-03-01/P1M'].map((interval) =>
      testSegment(interval, { sizeBytes: 10 }),
    )
    const all = { bytes: 30, segments: 3, intervals: 3 }
    const cases = [
      {
        given: { segmentGranularity: 'WEEK' },
        more: {},
        name: 'awaiting',
        recorded: { bytes: 70, segments: 7, intervals: 7 },
      },
      {
        given: { segmentGranularity: 'DAY' },
        more: { inputSegmentSizeBytes: 1 },
        name: 'skipped',
        recorded: { bytes: 900, segments: 90, intervals: 90 },
      },
    ] as const
    for (const { given, more, name, recorded } of cases) {
      const { counts, progress } = plan(months, [{ ...none, ...more, granularitySpec: given }])
      assert.deepEqual(counts.get('wiki'), {
        compacted: noFigures,
        skipped: noFigures,
        awaiting: noFigures,
        ineligible: noFigures,
        leftOut: noFigures,
        [name]: all,
      })
      assert.deepEqual(progress.get('wiki')?.[name], recorded)
    }
  })

  it('orders candidates by the policy, independent of the order of segments', () => {
    fc.assert(
      fc.property(
        anySegments,
        bothConfigs,
        policy,
        fc.infiniteStream(fc.nat()),
        (given, configs, json, dice) => {
          const cluster = { compactionPolicy: json }
          const { compactionPolicy: by } = parseClusterConfig(cluster)
          const { candidates } = plan(given, configs, { cluster })
          for (const [index, later] of candidates.entries()) {
            for (const earlier of candidates.slice(0, index)) {
              if (by.type === 'fixedIntervalOrder') {
                const [a, b] = [earlier, later].map(
                  (one) => placeInList(by.eligibleCandidates, one) ?? Number.POSITIVE_INFINITY,
                ) as [number, number]
                assert.ok(a <= b)
                continue
              }
              if (later.dataSource === by.priorityDatasource)
                assert.equal(earlier.dataSource, later.dataSource)
              else if (earlier.dataSource === by.priorityDatasource) continue
              if (by.type === 'newestSegmentFirst') assert.ok(earlier.interval.start >= later.interval.start)
              else {
                const [a, b] = [earlier, later].map((one) => fragmentationIndex(by, one.uncompacted))
                assert.ok((b as number) - (a as number) < 1)
              }
            }
          }
          const keys = given.map((segment) => ({ segment, key: dice.next().value as number }))
          const shuffled = keys.sort((a, b) => a.key - b.key).map(({ segment }) => segment)
          const ids = ({ candidates: some }: CompactionPlan) =>
            some.map(({ dataSource, interval }) => `${dataSource} ${formatInterval(interval)}`)
          assert.deepEqual(
            ids(plan(shuffled, configs.toReversed(), { cluster })),
            ids({ ...plan(given, configs, { cluster }) }),
          )
        },
      ),
    )
  })
})
