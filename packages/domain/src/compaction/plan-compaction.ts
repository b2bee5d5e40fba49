import type { ClusterCompactionConfig, CompactionConfig } from '../compaction-config/index.ts'
import {
  bucketOf,
  contains,
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

/** How far a datasource has come: sums over intervals, or over segments. */
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
  /** As the recorded system counts: a segment that several intervals share counts for each of them. */
  readonly progress: ReadonlyMap<string, CompactionProgress>
  /** The same with each segment counted once, as the metadata store has it: awaiting where any of its intervals is. */
  readonly counts: ReadonlyMap<string, CompactionProgress>
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
  /** Sums over the segments that one interval has for itself, and the groups that several share. */
  readonly counts: Omit<CompactionProgress, 'awaiting' | 'ineligible'>
  readonly shared: ReadonlyMap<SegmentGroup, SettledFate>
}

/** A candidate of which the policy was not asked yet. */
interface NeededCompaction
  extends Omit<CompactionCandidate, 'eligible' | 'mode' | 'code' | 'demand' | 'slots'> {
  /** The figures of what no other interval has, and the other groups. */
  readonly own: CompactionFigures
  shared: ReadonlySet<SegmentGroup>
}

/** What becomes of segments whatever the policy is. */
type SettledFate = 'compacted' | 'skipped' | 'leftOut'

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
  const counters = new Map(inOrder.map((found) => [found.config.dataSource, new Counter(found)]))
  const needed = inOrder.flatMap((one) => one.needed)
  const candidates = orderCandidates(policy, needed).map(({ own, shared, ...need }): CompactionCandidate => {
    const judged = eligibilityOf(policy, need)
    const sum = sums.get(need.dataSource)!
    const name = judged.eligible ? 'awaiting' : 'ineligible'
    sum[name] = addFigures(sum[name], need.figures)
    counters.get(need.dataSource)!.add(name, own, shared)
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
  const counts = new Map([...counters].map(([dataSource, counter]) => [dataSource, counter.sums()]))
  return { candidates, skipped: inOrder.flatMap((one) => one.skipped), progress: sums, counts, slots }
}

/** Counts each segment of a datasource once. */
class Counter {
  private readonly counts: { -readonly [Fate in keyof CompactionProgress]: CompactionFigures }
  private readonly fates: Map<SegmentGroup, keyof CompactionProgress>

  constructor({ counts, shared }: DatasourceFindings) {
    this.counts = { ...counts, awaiting: noFigures, ineligible: noFigures }
    this.fates = new Map(shared)
  }

  add(fate: 'awaiting' | 'ineligible', own: CompactionFigures, shared: ReadonlySet<SegmentGroup>): void {
    this.counts[fate] = addFigures(this.counts[fate], own)
    for (const group of shared) {
      if (fate === 'awaiting' || this.fates.get(group) !== 'awaiting') this.fates.set(group, fate)
    }
  }

  sums(): CompactionProgress {
    const sums = { ...this.counts }
    for (const [group, fate] of this.fates) sums[fate] = addFigures(sums[fate], figuresOf([group]))
    return sums
  }
}

/** What the used segments of one datasource say, `locks` being those of this datasource. */
export function searchDatasource(
  config: CompactionConfig,
  segments: readonly CompactionSegment[],
  locks: readonly LockedInterval[],
): DatasourceFindings {
  const search = new Search(config, segments, locks)
  search.run()
  const { needed, skipped, compactedIntervals, progress, counts, shared } = search
  return { config, needed, skipped, compactedIntervals, progress, counts, shared }
}

/** The search through one datasource. */
class Search {
  readonly needed: NeededCompaction[] = []
  readonly skipped: SkippedInterval[] = []
  readonly compactedIntervals: CompactedInterval[] = []
  readonly progress = { compacted: noFigures, skipped: noFigures, leftOut: noFigures }
  readonly counts = { compacted: noFigures, skipped: noFigures, leftOut: noFigures }
  readonly shared = new Map<SegmentGroup, SettledFate>()
  private readonly config: CompactionConfig
  private readonly segments: readonly CompactionSegment[]
  private readonly locks: readonly LockedInterval[]
  private readonly verdictOf: ReturnType<typeof compareWith>
  /** Umbrellas of what is needed or locked: one that several buckets share is taken once. */
  private readonly umbrellas = new Map<string, NeededCompaction | 'locked'>()

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
        ? pieces.toReversed().map((group) => ({ groups: [group], buckets: 1, interval: group.interval }))
        : bucketRuns(shown, granularity)
    const isAlone = granularity !== null || pieces.length === shown.length
    for (const { groups, buckets, interval } of runs) {
      const sharedOf = (some: readonly SegmentGroup[]): ReadonlySet<SegmentGroup> => {
        let shared: Set<SegmentGroup> | undefined
        for (const group of some) {
          if (isAlone && buckets === 1 && contains(interval, group.interval)) continue
          shared ??= new Set()
          shared.add(group)
        }
        return shared ?? noGroups
      }
      if (isWhole(groups)) this.judge(groups, buckets, sharedOf(groups))
      else if (granularity !== null) this.leaveOutRest(groups, skipStart, sharedOf)
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
    {
      isCounted = true,
      groups,
      shared = noGroups,
    }: {
      readonly isCounted?: boolean
      readonly groups: readonly SegmentGroup[]
      readonly shared?: ReadonlySet<SegmentGroup>
    },
  ): void {
    this.skipped.push({ dataSource: this.config.dataSource, interval, code, reason, figures, isCounted })
    const name = isCounted ? 'skipped' : 'leftOut'
    this.progress[name] = addFigures(this.progress[name], figures)
    this.count(name, groups, figures, shared)
  }

  /** Counts each segment once: those of a shared group where it is known what becomes of it everywhere. */
  private count(
    fate: SettledFate,
    groups: readonly SegmentGroup[],
    figures: CompactionFigures,
    shared: ReadonlySet<SegmentGroup>,
  ): void {
    this.counts[fate] = addFigures(this.counts[fate], ownFigures(groups, figures, shared))
    for (const group of shared) {
      const known = this.shared.get(group)
      if (known === undefined || fateRanks[fate] > fateRanks[known]) this.shared.set(group, fate)
    }
  }

  /** Eternity cannot be cut into buckets: a datasource that reaches to an end of it is skipped whole. */
  private skipEternity(shown: readonly SegmentGroup[]): boolean {
    const endsInTime = ({ interval: { start, end } }: SegmentGroup): boolean =>
      Number.isFinite(start) && Number.isFinite(end)
    if (shown.every(endsInTime)) return false
    for (const group of shown) {
      const reason = 'the datasource has segments that reach to an end of eternity, which has no buckets'
      this.skip('PARTIAL_ETERNITY', reason, group.interval, figuresOf([group]), { groups: [group] })
    }
    return true
  }

  private skipLatest(shown: readonly SegmentGroup[], window: Interval): void {
    if (window.start >= window.end) return
    const offset = formatPeriod(this.config.skipOffsetFromLatest)
    for (const group of shown) {
      if (!overlaps(group.interval, window)) continue
      const reason = `it reaches into the latest [${offset}], from [${formatInterval(window)}]`
      this.skip('SKIP_OFFSET_FROM_LATEST', reason, group.interval, figuresOf([group]), { groups: [group] })
    }
  }

  /** What shares a bucket with a segment of the latest data, and does not itself reach into that. */
  private leaveOutRest(
    groups: readonly SegmentGroup[],
    skipStart: number,
    sharedOf: (groups: readonly SegmentGroup[]) => ReadonlySet<SegmentGroup>,
  ): void {
    const rest = groups.filter(({ interval }) => interval.end <= skipStart)
    if (rest.length === 0) return
    const reason = 'it shares a bucket of segmentGranularity with a segment that reaches into the latest data'
    this.skip('BUCKET_NOT_WHOLE', reason, timeOf(rest), figuresOf(rest), {
      isCounted: false,
      groups: rest,
      shared: sharedOf(rest),
    })
  }

  /**
   * Decides about the groups of one bucket, or of `times` buckets that share them; `shared` are those that others have
   * as well.
   */
  private judge(groups: readonly SegmentGroup[], times: number, shared: ReadonlySet<SegmentGroup>): void {
    const { config } = this
    const granularity = config.granularitySpec?.segmentGranularity ?? null
    const figures = figuresOf(groups)
    const interval = timeOf(groups)
    const all = times === 1 ? figures : addFigures(noFigures, figures, times)
    if (figures.bytes === 0) {
      this.skip('NO_DATA_IN_SEGMENTS', 'its segments hold no bytes', interval, all, {
        isCounted: false,
        groups,
        shared,
      })
      return
    }
    const limit = config.inputSegmentSizeBytes
    if (figures.bytes > limit) {
      const reason = `its segments have [${figures.bytes}] bytes, more than inputSegmentSizeBytes [${limit}]`
      this.skip('INPUT_TOO_LARGE', reason, interval, all, { groups, shared })
      return
    }
    const { uncompacted, compacted, reason } = this.uncompactedOf(groups)
    if (uncompacted.length === 0) {
      this.progress.compacted = addFigures(this.progress.compacted, all)
      this.compactedIntervals.push({ interval, figures: all })
      this.count('compacted', groups, figures, shared)
      return
    }
    const umbrella = `${interval.start}/${interval.end}`
    const taken = this.umbrellas.get(umbrella)
    if (taken === 'locked') this.count('skipped', groups, figures, shared)
    else if (taken !== undefined) taken.shared = withGroups(taken.shared, groups)
    if (taken !== undefined) return
    const compactionInterval = granularity === null ? interval : widen(interval, granularity)
    const lock = this.locks.find((one) => overlaps(one.interval, compactionInterval))
    if (lock !== undefined) {
      const why = `task [${lock.taskId}] holds the lock of [${formatInterval(lock.interval)}]`
      this.skip('INTERVAL_LOCKED', why, interval, figures, { groups, shared })
      this.umbrellas.set(umbrella, 'locked')
      return
    }
    const need = {
      dataSource: config.dataSource,
      interval,
      compactionInterval,
      segments: groups.length === 1 ? groups[0]!.segments : groups.flatMap(({ segments }) => segments),
      uncompactedSegments: uncompacted,
      figures,
      uncompacted: contentOf(uncompacted),
      compacted: contentOf(compacted),
      reason,
      own: ownFigures(groups, figures, shared),
      shared,
    }
    this.umbrellas.set(umbrella, need)
    this.needed.push(need)
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

const noGroups: ReadonlySet<SegmentGroup> = new Set()

// Where one interval of a group is left alone the group is not done.
const fateRanks: Readonly<Record<SettledFate, number>> = { compacted: 0, leftOut: 1, skipped: 2 }

/** Of the figures of groups, those of the groups that are not shared. */
const ownFigures = (
  groups: readonly SegmentGroup[],
  figures: CompactionFigures,
  shared: ReadonlySet<SegmentGroup>,
): CompactionFigures =>
  shared.size === 0 ? figures : figuresOf(groups.filter((group) => !shared.has(group)))

function withGroups(
  known: ReadonlySet<SegmentGroup>,
  more: readonly SegmentGroup[],
): ReadonlySet<SegmentGroup> {
  const groups = known === noGroups ? new Set<SegmentGroup>() : (known as Set<SegmentGroup>)
  for (const group of more) groups.add(group)
  return groups
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
