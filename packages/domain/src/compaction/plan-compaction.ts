import type { ClusterCompactionConfig, CompactionConfig } from '../compaction-config/index.ts'
import {
  bucketOf,
  formatInterval,
  formatPeriod,
  type Interval,
  overlaps,
  subtractPeriod,
  umbrellaOf,
} from '../time/index.ts'
import { analyzeTimeline, type VisiblePiece } from '../timeline/index.ts'
import { bucketRuns, widen } from './buckets.ts'
import {
  addFigures,
  type CompactionFigures,
  type CompactionSegment,
  figuresOf,
  noFigures,
  type SegmentGroup,
} from './compaction-segment.ts'
import { compareWith, isAligned, type StateVerdict } from './compaction-state.ts'
import { orderCandidates } from './order.ts'
import { type CompactionMode, type Content, eligibilityOf, type IneligibleCode } from './policy.ts'
import { compactionSlots, grantSlots, type SlotDemand, slotDemand } from './slots.ts'

/** An interval in which a running task keeps others from writing. */
export interface LockedInterval {
  readonly dataSource: string
  readonly interval: Interval
  readonly taskId: string
}

/** Everything that deciding needs. */
export interface CompactionSnapshot {
  readonly cluster: ClusterCompactionConfig
  readonly configs: Iterable<CompactionConfig>
  /** The used segments of a datasource. */
  segmentsOf(dataSource: string): readonly CompactionSegment[]
  readonly locks: readonly LockedInterval[]
  /** Task slots of all workers. */
  readonly workerCapacity: number
}

/** An interval that needs compaction. */
export interface CompactionCandidate {
  readonly dataSource: string
  /** The umbrella of the segments' intervals. */
  readonly interval: Interval
  /** The umbrella widened to whole buckets of the configured granularity: what the task locks and replaces. */
  readonly compactionInterval: Interval
  readonly segments: readonly CompactionSegment[]
  readonly uncompactedSegments: readonly CompactionSegment[]
  readonly figures: CompactionFigures
  readonly uncompacted: Content
  readonly compacted: Content
  readonly eligible: boolean
  /** Null where the policy lets it wait. */
  readonly mode: CompactionMode | null
  readonly code: IneligibleCode | null
  readonly reason: string
  readonly demand: SlotDemand
  /** The task slots that its job takes once it is its turn. */
  readonly slots: number
}

/** Why an interval is not compacted though a configuration applies to it. */
export type SkipCode =
  | 'SKIP_OFFSET_FROM_LATEST'
  | 'INPUT_TOO_LARGE'
  | 'INTERVAL_LOCKED'
  | 'PARTIAL_ETERNITY'
  | 'BUCKET_NOT_WHOLE'
  | 'NO_DATA_IN_SEGMENTS'

/** An interval that is left alone. */
export interface SkippedInterval {
  readonly dataSource: string
  readonly interval: Interval
  readonly code: SkipCode
  readonly reason: string
  readonly figures: CompactionFigures
  /** The recorded system leaves some intervals out without counting them as skipped. */
  readonly isCounted: boolean
}

/** An interval that is as it is configured to be. */
export interface CompactedInterval {
  readonly interval: Interval
  readonly figures: CompactionFigures
}

/** How far a datasource has come. */
export interface CompactionProgress {
  readonly compacted: CompactionFigures
  readonly skipped: CompactionFigures
  /** What needs compaction and is eligible under the policy. */
  readonly awaiting: CompactionFigures
  /** What needs compaction and is not eligible. */
  readonly ineligible: CompactionFigures
  /** What is neither: the skipped intervals that are not counted. */
  readonly leftOut: CompactionFigures
}

/** What is to be compacted, in the order in which it is taken. */
export interface CompactionPlan {
  readonly candidates: readonly CompactionCandidate[]
  readonly skipped: readonly SkippedInterval[]
  readonly progress: ReadonlyMap<string, CompactionProgress>
  /** The task slots that compaction may take at a time. */
  readonly slots: number
}

/** What the segments of one datasource say about its compaction, whatever the policy and the slots are. */
export interface DatasourceFindings {
  readonly config: CompactionConfig
  readonly needed: readonly NeededCompaction[]
  readonly skipped: readonly SkippedInterval[]
  readonly compactedIntervals: readonly CompactedInterval[]
  readonly progress: Omit<CompactionProgress, 'awaiting' | 'ineligible'>
}

/** A candidate of which the policy was not asked yet. */
type NeededCompaction = Omit<CompactionCandidate, 'eligible' | 'mode' | 'code' | 'demand' | 'slots'>

/**
 * Decides for every datasource that has a configuration which intervals need compaction and which are left alone, as
 * the recorded system does; the order between equals is the same on every run. Takes O(n log n) of the segments.
 */
export function planCompaction(snapshot: CompactionSnapshot): CompactionPlan {
  const { cluster, workerCapacity, locks } = snapshot
  const findings = [...snapshot.configs].map((config) => {
    const own = locks.filter(({ dataSource }) => dataSource === config.dataSource)
    return searchDatasource(config, snapshot.segmentsOf(config.dataSource), own)
  })
  return assemblePlan(cluster, workerCapacity, findings)
}

/** The plan that follows from what was found in each datasource. */
export function assemblePlan(
  cluster: ClusterCompactionConfig,
  workerCapacity: number,
  findings: readonly DatasourceFindings[],
): CompactionPlan {
  const policy = cluster.compactionPolicy
  const inOrder = findings.toSorted((a, b) => (a.config.dataSource < b.config.dataSource ? -1 : 1))
  const demands = new Map(
    inOrder.map(({ config }) => [config.dataSource, slotDemand(cluster, config)] as const),
  )
  const leastOfJobs = [...demands.values()].reduce((least, { floor }) => Math.max(least, floor), 1)
  const slots = compactionSlots(cluster, workerCapacity, leastOfJobs)
  const sums = new Map(
    inOrder.map(({ config, progress }) => [
      config.dataSource,
      { ...progress, awaiting: noFigures, ineligible: noFigures },
    ]),
  )
  const needed = inOrder.flatMap((one) => one.needed)
  const candidates = orderCandidates(policy, needed).map((need): CompactionCandidate => {
    const judged = eligibilityOf(policy, need)
    const sum = sums.get(need.dataSource)!
    const name = judged.eligible ? 'awaiting' : 'ineligible'
    sum[name] = addFigures(sum[name], need.figures)
    const demand = demands.get(need.dataSource) as SlotDemand
    const [grant] = grantSlots([{ job: need, demand }], slots, 0)
    return {
      ...need,
      eligible: judged.eligible,
      mode: judged.mode,
      code: judged.eligible ? null : judged.code,
      reason: judged.reason === undefined ? need.reason : `${need.reason}; ${judged.reason}`,
      demand,
      slots: grant?.slots ?? demand.least,
    }
  })
  return { candidates, skipped: inOrder.flatMap((one) => one.skipped), progress: sums, slots }
}

/** What the used segments of one datasource say, `locks` being those of this datasource. */
export function searchDatasource(
  config: CompactionConfig,
  segments: readonly CompactionSegment[],
  locks: readonly LockedInterval[],
): DatasourceFindings {
  const search = new Search(config, segments, locks)
  search.run()
  const { needed, skipped, compactedIntervals, progress } = search
  return { config, needed, skipped, compactedIntervals, progress }
}

/** The search through one datasource. */
class Search {
  readonly needed: NeededCompaction[] = []
  readonly skipped: SkippedInterval[] = []
  readonly compactedIntervals: CompactedInterval[] = []
  readonly progress = { compacted: noFigures, skipped: noFigures, leftOut: noFigures }
  private readonly config: CompactionConfig
  private readonly segments: readonly CompactionSegment[]
  private readonly locks: readonly LockedInterval[]
  private readonly verdictOf: ReturnType<typeof compareWith>
  /** Umbrellas of what is needed: one that several buckets share is taken once. */
  private readonly umbrellas = new Set<string>()

  constructor(
    config: CompactionConfig,
    segments: readonly CompactionSegment[],
    locks: readonly LockedInterval[],
  ) {
    this.config = config
    this.segments = segments
    this.locks = locks
    this.verdictOf = compareWith(config)
  }

  run(): void {
    const granularity = this.config.granularitySpec?.segmentGranularity ?? null
    const { visible } = analyzeTimeline(this.segments)
    const last = visible.at(-1)
    if (last === undefined) return
    const pieces = this.groupsOf(visible)
    const shown = [...new Set(pieces)]
    if (granularity !== null && granularity !== 'ALL' && this.skipEternity(shown)) return
    const end =
      granularity === null
        ? last.interval.end
        : shown.reduce((most, { interval }) => Math.max(most, widen(interval, granularity).end), -Infinity)
    let skipStart = subtractPeriod(end, this.config.skipOffsetFromLatest)
    if (granularity !== null && Number.isFinite(skipStart)) skipStart = bucketOf(granularity, skipStart).start
    this.skipLatest(shown, { start: skipStart, end })
    const isWhole = (groups: readonly SegmentGroup[]): boolean =>
      skipStart >= end || groups.every(({ interval }) => interval.end <= skipStart)
    const runs =
      granularity === null
        ? pieces.toReversed().map((group) => ({ groups: [group], buckets: 1 }))
        : bucketRuns(shown, granularity)
    for (const { groups, buckets } of runs) {
      if (isWhole(groups)) this.judge(groups, buckets)
      else if (granularity !== null) this.leaveOutRest(groups, skipStart)
    }
  }

  /** The group of each visible piece; pieces of one group share the object. */
  private groupsOf(visible: readonly VisiblePiece[]): SegmentGroup[] {
    const groups = new Map<readonly number[], SegmentGroup>()
    return visible.map(({ segments: indexes }) => {
      let group = groups.get(indexes)
      if (group === undefined) {
        const segments = indexes.map((index) => this.segments[index]!)
        group = { interval: segments[0]!.interval, segments }
        groups.set(indexes, group)
      }
      return group
    })
  }

  private skip(
    code: SkipCode,
    reason: string,
    interval: Interval,
    figures: CompactionFigures,
    isCounted = true,
  ): void {
    this.skipped.push({ dataSource: this.config.dataSource, interval, code, reason, figures, isCounted })
    const name = isCounted ? 'skipped' : 'leftOut'
    this.progress[name] = addFigures(this.progress[name], figures)
  }

  /** Eternity cannot be cut into buckets: a datasource that reaches to an end of it is skipped whole. */
  private skipEternity(shown: readonly SegmentGroup[]): boolean {
    const endsInTime = ({ interval: { start, end } }: SegmentGroup): boolean =>
      Number.isFinite(start) && Number.isFinite(end)
    if (shown.every(endsInTime)) return false
    for (const group of shown) {
      const reason = 'the datasource has segments that reach to an end of eternity, which has no buckets'
      this.skip('PARTIAL_ETERNITY', reason, group.interval, figuresOf([group]))
    }
    return true
  }

  private skipLatest(shown: readonly SegmentGroup[], window: Interval): void {
    if (window.start >= window.end) return
    const offset = formatPeriod(this.config.skipOffsetFromLatest)
    for (const group of shown) {
      if (!overlaps(group.interval, window)) continue
      const reason = `it reaches into the latest [${offset}], from [${formatInterval(window)}]`
      this.skip('SKIP_OFFSET_FROM_LATEST', reason, group.interval, figuresOf([group]))
    }
  }

  /** What shares a bucket with a segment of the latest data, and does not itself reach into that. */
  private leaveOutRest(groups: readonly SegmentGroup[], skipStart: number): void {
    const rest = groups.filter(({ interval }) => interval.end <= skipStart)
    if (rest.length === 0) return
    const reason = 'it shares a bucket of segmentGranularity with a segment that reaches into the latest data'
    this.skip('BUCKET_NOT_WHOLE', reason, timeOf(rest), figuresOf(rest), false)
  }

  /** Decides about the groups of one bucket, or of `times` buckets that share them. */
  private judge(groups: readonly SegmentGroup[], times: number): void {
    const { config } = this
    const granularity = config.granularitySpec?.segmentGranularity ?? null
    const figures = figuresOf(groups)
    const interval = timeOf(groups)
    const all = times === 1 ? figures : addFigures(noFigures, figures, times)
    if (figures.bytes === 0) {
      this.skip('NO_DATA_IN_SEGMENTS', 'its segments hold no bytes', interval, all, false)
      return
    }
    const limit = config.inputSegmentSizeBytes
    if (figures.bytes > limit) {
      const reason = `its segments have [${figures.bytes}] bytes, more than inputSegmentSizeBytes [${limit}]`
      this.skip('INPUT_TOO_LARGE', reason, interval, all)
      return
    }
    const { uncompacted, compacted, reason } = this.uncompactedOf(groups)
    if (uncompacted.length === 0) {
      this.progress.compacted = addFigures(this.progress.compacted, all)
      this.compactedIntervals.push({ interval, figures: all })
      return
    }
    const umbrella = `${interval.start}/${interval.end}`
    if (this.umbrellas.has(umbrella)) return
    this.umbrellas.add(umbrella)
    const compactionInterval = granularity === null ? interval : widen(interval, granularity)
    const lock = this.locks.find((one) => overlaps(one.interval, compactionInterval))
    if (lock !== undefined) {
      const why = `task [${lock.taskId}] holds the lock of [${formatInterval(lock.interval)}]`
      this.skip('INTERVAL_LOCKED', why, interval, figures)
      return
    }
    this.needed.push({
      dataSource: config.dataSource,
      interval,
      compactionInterval,
      segments: groups.length === 1 ? groups[0]!.segments : groups.flatMap(({ segments }) => segments),
      uncompactedSegments: uncompacted,
      figures,
      uncompacted: contentOf(uncompacted),
      compacted: contentOf(compacted),
      reason,
    })
  }

  /** The segments whose state is not as configured, the others, and the first check that fails. */
  private uncompactedOf(groups: readonly SegmentGroup[]): {
    uncompacted: readonly CompactionSegment[]
    compacted: readonly CompactionSegment[]
    reason: string
  } {
    const granularity = this.config.granularitySpec?.segmentGranularity ?? null
    // States that name no granularity are judged together: one unaligned segment speaks for all with its state.
    const unaligned = new Set<StateVerdict>()
    if (granularity !== null) {
      for (const { interval, segments } of groups) {
        if (isAligned(interval, granularity)) continue
        for (const { lastCompactionState } of segments) {
          const verdict = lastCompactionState && this.verdictOf(lastCompactionState)
          if (verdict?.mustAlign) unaligned.add(verdict)
        }
      }
    }
    let first: StateVerdict | undefined
    const uncompacted: CompactionSegment[] = []
    const compacted: CompactionSegment[] = []
    for (const { segments } of groups) {
      for (const segment of segments) {
        const verdict = segment.lastCompactionState && this.verdictOf(segment.lastCompactionState)
        if (verdict !== undefined && verdict.mismatch === undefined && !unaligned.has(verdict)) {
          compacted.push(segment)
          continue
        }
        uncompacted.push(segment)
        const candidate = verdict ?? neverCompacted
        if (first === undefined || candidate.rank < first.rank) first = candidate
      }
    }
    const reason = first?.mismatch ?? `segmentGranularity: segments do not lie in buckets of [${granularity}]`
    return { uncompacted, compacted, reason }
  }
}

const neverCompacted: StateVerdict = { mismatch: 'not compacted yet', rank: -1, mustAlign: false }

/** The time of groups, of which there is one at least. */
const timeOf = (groups: readonly SegmentGroup[]): Interval =>
  umbrellaOf(groups.map(({ interval }) => interval)) as Interval

function contentOf(segments: readonly CompactionSegment[]): Content {
  let bytes = 0
  let rows: number | undefined = 0
  for (const { sizeBytes, totalRows } of segments) {
    bytes += sizeBytes
    rows = rows === undefined || totalRows === undefined ? undefined : rows + totalRows
  }
  return { count: segments.length, bytes, rows }
}
