import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { segmentId } from '../segment/index.ts'
import { finish } from '../steps/index.ts'
import { eternity, formatInterval, overlaps, parseInterval } from '../time/index.ts'
import { parseClusterConfig, parseCompactionConfig } from './config/index.ts'
import {
  assemblePlan,
  type CompactionSegment,
  type CompactionState,
  type ExplainedCompaction,
  explainCompaction,
  forecastCompaction,
  type LockedInterval,
  type PastCompaction,
  scheduleCompactions,
  searchDatasource,
  summarizeCompaction,
} from './index.ts'
import { testSegment } from './test-segments.ts'

const now = Date.UTC(2026, 1, 1)
// One second for each task.
const rate = { msUntilStart: 0, msPerTask: 1000, msPerByte: 0 }
const fingerprints = { config: 'c', segments: 's' }

interface Given {
  readonly cluster?: object
  readonly config?: object
  readonly locks?: readonly LockedInterval[]
  readonly past?: readonly PastCompaction[]
  readonly capacity?: number
}

function explained(segments: readonly CompactionSegment[], given: Given = {}): ExplainedCompaction {
  const { cluster = {}, config = {}, locks = [], past = [], capacity = 100 } = given
  const parsed = parseCompactionConfig({ dataSource: 'wiki', skipOffsetFromLatest: 'PT0S', ...config })
  const findings = finish(searchDatasource(parsed, segments, locks))
  const plan = finish(assemblePlan(parseClusterConfig(cluster), capacity, [findings]))
  const times = { past, fingerprintsOf: () => fingerprints, now }
  const schedule = scheduleCompactions({ candidates: plan.candidates, slots: plan.slots, ...times })
  const steps = forecastCompaction({ ...times, plan, rate, periodMs: 10_000, untilNextRunMs: 10_000 })
  return { plan, findings, schedule, forecast: finish(steps) }
}

const days = ['2026-01-01/P1D', '2026-01-02/P1D', '2026-01-03/P1D']
const daily = days.map((day) => testSegment(day))
const past = (interval: string, ended: PastCompaction['ended']): PastCompaction => ({
  taskId: 'compact_1',
  dataSource: 'wiki',
  interval: parseInterval(interval),
  ended,
  slots: 1,
  configFingerprint: 'c',
  segmentsFingerprint: 's',
})

describe('the summary of compaction', () => {
  const summary = (given: Given, sees = () => true) => summarizeCompaction(explained(daily, given), sees)

  it('says what is waiting, and what is holding it up', () => {
    const cluster = { compactionTaskSlotRatio: 1, maxCompactionTaskSlots: 1 }
    assert.deepEqual(summary({ cluster }), [
      '3 intervals (300 B) await compaction; running tasks use 0 of 1 task slot',
    ])
    const locks = [{ dataSource: 'wiki', interval: parseInterval(days[0]!), taskId: 'index_1' }]
    const failed = [past(days[2]!, { succeeded: false, at: now - 1000 })]
    assert.deepEqual(summary({ cluster, locks, past: failed }), [
      '2 intervals (200 B) await compaction; running tasks use 0 of 1 task slot',
      'Compaction of 1 interval failed or changed nothing (for example, task [compact_1]), and will be retried later',
      'Compaction is waiting for locks on 1 interval, for example in [wiki]: task [index_1] holds a lock on [2026-01-01T00:00:00.000Z/2026-01-02T00:00:00.000Z]',
    ])
    const own = locks.map((lock) => ({ ...lock, taskId: 'auto_compact_1', isCompaction: true }))
    assert.deepEqual(summary({ cluster, locks: own }), [
      '1 interval is being compacted, for example in [wiki]: task [auto_compact_1] is compacting [2026-01-01T00:00:00.000Z/2026-01-02T00:00:00.000Z]',
      '2 intervals (200 B) await compaction; running tasks use 0 of 1 task slot',
    ])
    assert.match(
      summary({ cluster: { compactionTaskSlotRatio: 0 } })[1]!,
      /too few task slots to compact 3 intervals/,
    )
  })

  it('says nothing if nothing needs compaction, or if the reader may not read it', () => {
    assert.deepEqual(
      summarizeCompaction(explained([]), () => true),
      [],
    )
    assert.deepEqual(
      summary({}, () => false),
      [],
    )
  })
})

describe('the explanation of compaction', () => {
  const cases: [name: string, given: Given, expected: (string | number | undefined)[][]][] = [
    [
      'the order, and what the next run submits',
      { cluster: { compactionTaskSlotRatio: 1, maxCompactionTaskSlots: 1 } },
      [
        ['WAITING', 3, 200],
        ['WAITING', 2, 100],
        ['NEXT', 1, 0],
      ],
    ],
    [
      'the latest data, which is skipped',
      { config: { skipOffsetFromLatest: 'P1D' }, cluster: { maxCompactionTaskSlots: 1 } },
      [
        ['WAITING', 2, 100],
        ['NEXT', 1, 0],
        ['SKIP_OFFSET_FROM_LATEST', undefined, undefined],
      ],
    ],
    [
      'failures, which are retried later',
      { past: [past(days[2]!, { succeeded: false, at: now - 1000 })] },
      [
        ['NEXT', 3, 200],
        ['NEXT', 2, 100],
        ['RETRIED_LATER', 1, 0],
      ],
    ],
    [
      'locks',
      { locks: [{ dataSource: 'wiki', interval: parseInterval(days[0]!), taskId: 'index_1' }] },
      [
        ['INTERVAL_LOCKED', undefined, undefined],
        ['NEXT', 2, 100],
        ['NEXT', 1, 0],
      ],
    ],
    [
      'a running compaction task',
      {
        locks: [
          {
            dataSource: 'wiki',
            interval: parseInterval(days[0]!),
            taskId: 'auto_compact_1',
            isCompaction: true,
          },
        ],
      },
      [
        ['BEING_COMPACTED', undefined, undefined],
        ['NEXT', 2, 100],
        ['NEXT', 1, 0],
      ],
    ],
    [
      'intervals that the policy postpones',
      { cluster: { compactionPolicy: { type: 'mostFragmentedFirst', minUncompactedCount: 2 } } },
      [
        ['TOO_FEW_UNCOMPACTED_SEGMENTS', undefined, undefined],
        ['TOO_FEW_UNCOMPACTED_SEGMENTS', undefined, undefined],
        ['TOO_FEW_UNCOMPACTED_SEGMENTS', undefined, undefined],
      ],
    ],
  ]
  for (const [name, given, expected] of cases)
    it(`names ${name}`, () => {
      const found = explainCompaction(explained(daily, given), eternity)
      assert.deepEqual(
        found.map(({ code, place, bytesAhead }) => [code, place, bytesAhead]),
        expected,
      )
      assert.deepEqual(
        found.map(({ interval }) => formatInterval(interval)),
        days.map((day) => formatInterval(parseInterval(day))),
      )
    })

  it('names the lock, the retry time, and the slots in its texts', () => {
    const textOf = (given: Given, index: number) =>
      explainCompaction(explained(daily, given), eternity)[index]!.reason
    const locks = [{ dataSource: 'wiki', interval: parseInterval(days[0]!), taskId: 'index_1' }]
    assert.match(textOf({ locks }, 0), /index_1/)
    const failed = [past(days[2]!, { succeeded: false, at: now - 1000 })]
    assert.equal(
      textOf({ past: failed }, 2),
      'not compacted yet. 1 task failed or changed nothing (most recently [compact_1], which failed); the next task starts at 2026-02-01T00:00:59.000Z or later',
    )
    assert.equal(
      textOf({ cluster: { compactionTaskSlotRatio: 1, maxCompactionTaskSlots: 1 } }, 0),
      'not compacted yet. This interval is number [3] in the queue, behind 2 intervals (200 B). It needs 1 task slot, and running tasks use 0 of 1',
    )
  })

  it('hides other datasources in the queue and the used slots from readers who may not see them', () => {
    const cluster = { compactionTaskSlotRatio: 1, maxCompactionTaskSlots: 1 }
    const state = explained(daily, { cluster })
    const [candidate] = state.plan.candidates
    const candidates = [{ ...candidate!, dataSource: 'hidden' }, ...state.plan.candidates]
    const withHidden = { ...state, plan: { ...state.plan, candidates } }
    const reader = { sees: (dataSource: string) => dataSource === 'wiki', seesAll: false, seesCluster: false }
    const [oldest] = explainCompaction(withHidden, eternity, reader)
    assert.equal(
      oldest!.reason,
      'not compacted yet. Among the intervals that you may read, this one is number [3] in the queue, behind 2 intervals (200 B). It needs 1 task slot',
    )
    assert.equal(explainCompaction(withHidden, eternity)[0]!.place, 4)
  })

  it('explains only intervals that overlap the requested one', () => {
    const found = explainCompaction(explained(daily), parseInterval(days[1]!))
    assert.deepEqual(
      found.map(({ interval }) => formatInterval(interval)),
      [formatInterval(parseInterval(days[1]!))],
    )
  })

  it('agrees with the plan in every recorded case, and leaves no interval without a reason', () => {
    const file = new URL('../../../../test/fixtures/vectors/compaction.jsonl', import.meta.url)
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    assert.equal(lines.length, 442)
    let explainedIntervals = 0
    for (const line of lines) {
      const recorded = JSON.parse(line) as {
        readonly policy: unknown
        readonly configs: Readonly<Record<string, object>>
        readonly segments: readonly (Omit<CompactionSegment, 'interval' | 'id'> & {
          readonly interval: string
          readonly size: number
          readonly numRows: number
          readonly lastCompactionState: CompactionState | null
        })[]
        readonly candidates: readonly {
          readonly dataSource: string
          readonly interval: string
          readonly eligible: boolean
        }[]
        readonly stats: Readonly<Record<string, { readonly compacted: { readonly bytes: number } }>>
      }
      for (const config of Object.values(recorded.configs)) {
        const { dataSource } = config as { dataSource: string }
        const segments = recorded.segments
          .filter((segment) => segment.dataSource === dataSource)
          .map((segment): CompactionSegment => {
            const one = { ...segment, interval: parseInterval(segment.interval) }
            return {
              ...one,
              id: segmentId(one),
              sizeBytes: segment.size,
              totalRows: segment.numRows,
              lastCompactionState: segment.lastCompactionState ?? undefined,
            }
          })
        const state = explained(segments, { config, cluster: { compactionPolicy: recorded.policy } })
        const found = explainCompaction(state, eternity)
        const awaiting = found.filter(({ place }) => place !== undefined)
        const eligible = state.plan.candidates.filter((candidate) => candidate.eligible)
        assert.equal(awaiting.length, eligible.length)
        assert.equal(
          found.length,
          state.plan.candidates.length +
            state.findings.skipped.length +
            state.findings.compactedIntervals.length,
        )
        // What Druid 37 compacts awaits compaction here, and what it counts as compacted has that code.
        assert.deepEqual(
          awaiting.map(({ interval }) => formatInterval(interval)).sort(),
          recorded.candidates
            .filter((candidate) => candidate.dataSource === dataSource && candidate.eligible)
            .map(({ interval }) => interval)
            .sort(),
        )
        const upToDate = found.filter(({ code }) => code === 'UP_TO_DATE')
        assert.equal(
          upToDate.reduce((sum, { bytes }) => sum + bytes, 0),
          recorded.stats[dataSource]?.compacted.bytes ?? 0,
        )
        // Each code is the one of the decision about the interval.
        const decisions = [
          ...state.findings.skipped.map((one) => [formatInterval(one.interval), one.code]),
          ...state.findings.compactedIntervals.map((one) => [formatInterval(one.interval), 'UP_TO_DATE']),
          ...state.plan.candidates
            .filter((candidate) => !candidate.eligible)
            .map((candidate) => [formatInterval(candidate.interval), candidate.code]),
        ]
        assert.deepEqual(
          found
            .filter(({ place }) => place === undefined)
            .map(({ interval, code }) => `${formatInterval(interval)} ${code}`)
            .sort(),
          decisions.map((one) => one.join(' ')).sort(),
        )
        const submitted = new Set(
          state.schedule.submissions.map(({ candidate }) => formatInterval(candidate.interval)),
        )
        for (const { interval, code } of awaiting)
          assert.equal(code === 'NEXT', submitted.has(formatInterval(interval)))
        for (const { interval, code, reason } of found) {
          assert.ok(code.length > 0 && reason.length > 0)
          explainedIntervals += 1
          assert.ok(segments.some((segment) => overlaps(segment.interval, interval)))
        }
      }
    }
    assert.ok(explainedIntervals > 442, String(explainedIntervals))
  })
})
