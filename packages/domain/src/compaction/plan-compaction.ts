import { finish } from '../steps/index.ts'
import {
  bucketOf,
  contains,
  enclosingInterval,
  formatInterval,
  formatPeriod,
  type Interval,
  overlaps,
  subtractPeriod,
} from '../time/index.ts'
import { analyzeTimelineInSteps, type VisiblePiece } from '../timeline/index.ts'
import { bucketRuns, widen } from './buckets.ts'
import {
  addFigures,
  type CompactionFigures,
  type CompactionSegment,
  figuresOf,
  noFigures,
  type SegmentGroup,
} from './compaction-segment.ts'
import { type CompactionState, compareWith, isAligned, type StateVerdict } from './compaction-state.ts'
import type { ClusterCompactionConfig, CompactionConfig } from './config/index.ts'
import { orderCandidates } from './order.ts'
import { type CompactionMode, type Content, eligibilityOf, type IneligibleCode } from './policy.ts'
import { compactionSlots, grantSlots, type SlotDemand, slotDemand } from './slots.ts'

/** An interval that a running task has locked. */
export interface LockedInterval {
  readonly dataSource: string
  readonly interval: Interval
  readonly taskId: string
  /** Whether the task compacts the interval. */
  readonly isCompaction?: boolean
}

/** The input of a plan. */
export interface CompactionSnapshot {
  readonly cluster: ClusterCompactionConfig
  readonly configs: Iterable<CompactionConfig>
  /** Returns the used segments of a datasource. */
  segmentsOf(dataSource: string): readonly CompactionSegment[]
  readonly locks: readonly LockedInterval[]
  /** Total number of task slots of all workers. */
  readonly workerCapacity: number
}

/** An interval that needs compaction. */
export interface CompactionCandidate {
  readonly dataSource: string
  /** Umbrella interval of the segments. */
  readonly interval: Interval
  /** The umbrella interval, widened to entire buckets of the configured granularity. The task locks and replaces it. */
  readonly compactionInterval: Interval
  readonly segments: readonly CompactionSegment[]
  readonly uncompactedSegments: readonly CompactionSegment[]
  readonly figures: CompactionFigures
  readonly uncompacted: Content
  readonly compacted: Content
  readonly eligible: boolean
  /** Null if the policy postpones it. */
  readonly mode: CompactionMode | null
  readonly code: IneligibleCode | null
  readonly reason: string
  readonly demand: SlotDemand
  /** Task slots that its job will use. */
  readonly slots: number
}

/** Why an interval is skipped although a configuration applies to it. */
export type SkipCode =
  | 'SKIP_OFFSET_FROM_LATEST'
  | 'INPUT_TOO_LARGE'
  /** A task other than a compaction task works on the interval. */
  | 'INTERVAL_LOCKED'
  | 'BEING_COMPACTED'
  | 'PARTIAL_ETERNITY'
  | 'BUCKET_NOT_WHOLE'
  | 'NO_DATA_IN_SEGMENTS'

/** A skipped interval. */
export interface SkippedInterval {
  readonly dataSource: string
  readonly interval: Interval
  readonly code: SkipCode
  readonly reason: string
  readonly figures: CompactionFigures
  /** Druid 37 omits some intervals without counting them as skipped. */
  readonly isCounted: boolean
}

/** An interval that matches its configuration. */
export interface CompactedInterval {
  readonly interval: Interval
  readonly figures: CompactionFigures
}

/** Compaction progress of a datasource, as totals of intervals or of segments. */
export interface CompactionProgress {
  readonly compacted: CompactionFigures
  readonly skipped: CompactionFigures
  /** Intervals that need compaction and that the policy selects. */
  readonly awaiting: CompactionFigures
  /** Intervals that need compaction and that the policy postpones. */
  readonly ineligible: CompactionFigures
  /** Skipped intervals that are not counted as skipped. */
  readonly leftOut: CompactionFigures
}

/** What to compact, in order. */
export interface CompactionPlan {
  readonly candidates: readonly CompactionCandidate[]
  readonly skipped: readonly SkippedInterval[]
  /** Counted as in Druid 37: a segment that several intervals share counts for each of them. */
  readonly progress: ReadonlyMap<string, CompactionProgress>
  /** Each segment counted once. A segment is awaiting if any of its intervals is. */
  readonly counts: ReadonlyMap<string, CompactionProgress>
  /** Maximum number of concurrent compaction task slots. */
  readonly slots: number
}

/** Compaction needs of one datasource, independent of the policy and the task slots. */
export interface DatasourceFindings {
  readonly config: CompactionConfig
  readonly needed: readonly NeededCompaction[]
  readonly skipped: readonly SkippedInterval[]
  readonly compactedIntervals: readonly CompactedInterval[]
  readonly progress: Omit<CompactionProgress, 'awaiting' | 'ineligible'>
  /** Totals of the segments in only one interval. `shared` are the groups in several intervals. */
  readonly counts: Omit<CompactionProgress, 'awaiting' | 'ineligible'>
  readonly shared: ReadonlyMap<SegmentGroup, SettledFate>
}

/** A candidate to which the policy was not applied yet. */
interface NeededCompaction
  extends Omit<CompactionCandidate, 'eligible' | 'mode' | 'code' | 'demand' | 'slots'> {
  /** Totals of the segments in no other interval. `shared` are the other groups. */
  readonly own: CompactionFigures
  shared: ReadonlySet<SegmentGroup>
}

/** What happens to segments, independent of the policy. */
type SettledFate = 'compacted' | 'skipped' | 'leftOut'

/**
 * Decides which intervals of all configured datasources need compaction and which are skipped, like Druid 37. The order
 * of equal candidates is the same in every run. Takes O(n log n) time for n segments.
 */
export function planCompaction(snapshot: CompactionSnapshot): CompactionPlan {
  const { cluster, workerCapacity, locks } = snapshot
  const findings = [...snapshot.configs].map((config) => {
    const own = locks.filter(({ dataSource }) => dataSource === config.dataSource)
    return finish(searchDatasource(config, snapshot.segmentsOf(config.dataSource), own))
  })
  return finish(assemblePlan(cluster, workerCapacity, findings))
}

// Number of intervals between two pauses.
const sliceLength = 1000

/** Returns the plan for the findings in each datasource. Pauses regularly. */
export function* assemblePlan(
  cluster: ClusterCompactionConfig,
  workerCapacity: number,
  findings: readonly DatasourceFindings[],
): Generator<undefined, CompactionPlan> {
  const policy = cluster.compactionPolicy
  const inOrder = findings.toSorted((a, b) => (a.config.dataSource < b.config.dataSource ? -1 : 1))
  const demands = new Map(
    inOrder.map(({ config }) => [config.dataSource, slotDemand(cluster, config)] as const),
  )
  const minSlotsOfJobs = [...demands.values()].reduce((min, { floor }) => Math.max(min, floor), 1)
  const slots = compactionSlots(cluster, workerCapacity, minSlotsOfJobs)
  const sums = new Map(
    inOrder.map(({ config, progress }) => [
      config.dataSource,
      { ...progress, awaiting: noFigures, ineligible: noFigures },
    ]),
  )
  const counters = new Map(inOrder.map((found) => [found.config.dataSource, new Counter(found)]))
  const needed = inOrder.flatMap((one) => one.needed)
  const candidates: CompactionCandidate[] = []
  for (const need of yield* orderCandidates(policy, needed)) {
    if (candidates.length % sliceLength === 0) yield
    const judged = eligibilityOf(policy, need)
    const sum = sums.get(need.dataSource)!
    const name = judged.eligible ? 'awaiting' : 'ineligible'
    sum[name] = addFigures(sum[name], need.figures)
    counters.get(need.dataSource)!.add(name, need.own, need.shared)
    const demand = demands.get(need.dataSource) as SlotDemand
    const [grant] = grantSlots([{ job: need, demand }], slots, 0)
    // Field by field: a spread without `own` and `shared` takes several times as long.
    candidates.push({
      dataSource: need.dataSource,
      interval: need.interval,
      compactionInterval: need.compactionInterval,
      segments: need.segments,
      uncompactedSegments: need.uncompactedSegments,
      figures: need.figures,
      uncompacted: need.uncompacted,
      compacted: need.compacted,
      eligible: judged.eligible,
      mode: judged.mode,
      code: judged.eligible ? null : judged.code,
      reason: judged.reason === undefined ? need.reason : `${need.reason}; ${judged.reason}`,
      demand,
      slots: grant?.slots ?? demand.min,
    })
  }
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

/** Returns the compaction needs of one datasource from its used segments and its locks. Pauses regularly. */
export function* searchDatasource(
  config: CompactionConfig,
  segments: readonly CompactionSegment[],
  locks: readonly LockedInterval[],
): Generator<undefined, DatasourceFindings> {
  const search = new Search(config, segments, locks)
  yield* search.run()
  const { needed, skipped, compactedIntervals, progress, counts, shared } = search
  return { config, needed, skipped, compactedIntervals, progress, counts, shared }
}

/** A search in one datasource. */
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
  private verdictOf!: (state: CompactionState) => StateVerdict
  /** Umbrella intervals that need compaction or are locked. If several buckets share one, it is used once. */
  private readonly enclosingIntervals = new Map<string, NeededCompaction | 'locked'>()

  constructor(
    config: CompactionConfig,
    segments: readonly CompactionSegment[],
    locks: readonly LockedInterval[],
  ) {
    this.config = config
    this.segments = segments
    this.locks = locks
  }

  *run(): Generator<undefined, void> {
    const granularity = this.config.granularitySpec?.segmentGranularity ?? null
    const { visible } = yield* analyzeTimelineInSteps(this.segments)
    const last = visible.at(-1)
    if (last === undefined) return
    this.verdictOf = yield* compareWith(this.config)
    const pieces = yield* this.groupsOf(visible)
    const shown = [...new Set(pieces)]
    yield
    if (granularity !== null && granularity !== 'ALL' && this.skipEternity(shown)) return
    const end =
      granularity === null
        ? last.interval.end
        : shown.reduce((max, { interval }) => Math.max(max, widen(interval, granularity).end), -Infinity)
    let skipStart = subtractPeriod(end, this.config.skipOffsetFromLatest)
    if (granularity !== null && Number.isFinite(skipStart)) skipStart = bucketOf(granularity, skipStart).start
    yield
    // Without a granularity, only the visible pieces of a partly overshadowed group count as overlapping, as in Druid 37.
    const counted = granularity === null ? groupsAfter(visible, pieces, skipStart) : undefined
    this.skipLatest(shown, { start: skipStart, end }, counted)
    yield
    const isComplete = (groups: readonly SegmentGroup[]): boolean =>
      skipStart >= end || groups.every(({ interval }) => interval.end <= skipStart)
    const runs =
      granularity === null
        ? pieces.toReversed().map((group) => ({ groups: [group], buckets: 1, interval: group.interval }))
        : yield* bucketRuns(shown, granularity)
    const isAlone = granularity !== null || pieces.length === shown.length
    for (const [index, { groups, buckets, interval }] of runs.entries()) {
      if (index % sliceLength === 0) yield
      const sharedOf = (some: readonly SegmentGroup[]): ReadonlySet<SegmentGroup> => {
        let shared: Set<SegmentGroup> | undefined
        for (const group of some) {
          if (isAlone && buckets === 1 && contains(interval, group.interval)) continue
          shared ??= new Set()
          shared.add(group)
        }
        return shared ?? noGroups
      }
      if (isComplete(groups)) this.judge(groups, buckets, sharedOf(groups))
      else if (granularity !== null) this.leaveOutRest(groups, skipStart, sharedOf)
    }
  }

  /** Returns the group of each visible piece. Pieces of the same group share one object. */
  private *groupsOf(visible: readonly VisiblePiece[]): Generator<undefined, SegmentGroup[]> {
    const groups = new Map<readonly number[], SegmentGroup>()
    const pieces: SegmentGroup[] = []
    for (const { segments: indexes } of visible) {
      let group = groups.get(indexes)
      if (group === undefined) {
        const segments = indexes.map((index) => this.segments[index]!)
        group = { interval: segments[0]!.interval, segments }
        groups.set(indexes, group)
      }
      pieces.push(group)
      if (pieces.length % sliceLength === 0) yield
    }
    return pieces
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

  /** Counts each segment once. Shared groups are counted later, when all their intervals are known. */
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

  /** Skips the entire datasource if it has eternity intervals, which cannot be split into buckets. */
  private skipEternity(shown: readonly SegmentGroup[]): boolean {
    const endsInTime = ({ interval: { start, end } }: SegmentGroup): boolean =>
      Number.isFinite(start) && Number.isFinite(end)
    if (shown.every(endsInTime)) return false
    for (const group of shown) {
      const reason =
        'the datasource has segments with unbounded intervals, which cannot be split into buckets'
      this.skip('PARTIAL_ETERNITY', reason, group.interval, figuresOf([group]), { groups: [group] })
    }
    return true
  }

  /** Skips groups that overlap the window of the latest data. Counts those in `counted`; by default, all. */
  private skipLatest(
    shown: readonly SegmentGroup[],
    window: Interval,
    counted: ReadonlySet<SegmentGroup> | undefined,
  ): void {
    if (window.start >= window.end) return
    const offset = formatPeriod(this.config.skipOffsetFromLatest)
    for (const group of shown) {
      if (!overlaps(group.interval, window)) continue
      const reason = `overlaps [${formatInterval(window)}], which skipOffsetFromLatest [${offset}] excludes`
      const isCounted = counted?.has(group) ?? true
      this.skip('SKIP_OFFSET_FROM_LATEST', reason, group.interval, figuresOf([group]), {
        isCounted,
        groups: [group],
      })
    }
  }

  /** Skips groups that share a bucket with a segment of the latest data but are not part of the latest data. */
  private leaveOutRest(
    groups: readonly SegmentGroup[],
    skipStart: number,
    sharedOf: (groups: readonly SegmentGroup[]) => ReadonlySet<SegmentGroup>,
  ): void {
    const rest = groups.filter(({ interval }) => interval.end <= skipStart)
    if (rest.length === 0) return
    const reason = 'shares a segmentGranularity bucket with a segment that skipOffsetFromLatest excludes'
    this.skip('BUCKET_NOT_WHOLE', reason, timeOf(rest), figuresOf(rest), {
      isCounted: false,
      groups: rest,
      shared: sharedOf(rest),
    })
  }

  /**
   * Decides about the groups of one bucket, or of `times` buckets that share them. `shared` are groups that other
   * buckets also contain.
   */
  private judge(groups: readonly SegmentGroup[], times: number, shared: ReadonlySet<SegmentGroup>): void {
    const { config } = this
    const granularity = config.granularitySpec?.segmentGranularity ?? null
    const figures = figuresOf(groups)
    const interval = timeOf(groups)
    const all = times === 1 ? figures : addFigures(noFigures, figures, times)
    if (figures.bytes === 0) {
      this.skip('NO_DATA_IN_SEGMENTS', 'segments contain no data', interval, all, {
        isCounted: false,
        groups,
        shared,
      })
      return
    }
    const limit = config.inputSegmentSizeBytes
    if (figures.bytes > limit) {
      const reason = `total segment size [${figures.bytes}] bytes exceeds inputSegmentSizeBytes [${limit}]`
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
    const enclosing = `${interval.start}/${interval.end}`
    const taken = this.enclosingIntervals.get(enclosing)
    if (taken === 'locked') this.count('skipped', groups, figures, shared)
    else if (taken !== undefined) taken.shared = withGroups(taken.shared, groups)
    if (taken !== undefined) return
    const compactionInterval = granularity === null ? interval : widen(interval, granularity)
    const lock = this.locks.find((one) => overlaps(one.interval, compactionInterval))
    if (lock !== undefined) {
      const where = formatInterval(lock.interval)
      if (lock.isCompaction === true)
        this.skip('BEING_COMPACTED', `task [${lock.taskId}] is compacting [${where}]`, interval, figures, {
          groups,
          shared,
        })
      else
        this.skip('INTERVAL_LOCKED', `task [${lock.taskId}] holds a lock on [${where}]`, interval, figures, {
          groups,
          shared,
        })
      this.enclosingIntervals.set(enclosing, 'locked')
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
      compacted,
      reason,
      own: ownFigures(groups, figures, shared),
      shared,
    }
    this.enclosingIntervals.set(enclosing, need)
    this.needed.push(need)
  }

  /** Returns the segments that do not match the configuration, what the others contain, and the first failed check. */
  private uncompactedOf(groups: readonly SegmentGroup[]): {
    uncompacted: readonly CompactionSegment[]
    compacted: Content
    reason: string
  } {
    const unaligned = this.unalignedIn(groups)
    let first: StateVerdict | undefined
    const uncompacted: CompactionSegment[] = []
    const compacted = new ContentSum()
    for (const { segments } of groups) {
      for (const segment of segments) {
        const verdict = segment.lastCompactionState && this.verdictOf(segment.lastCompactionState)
        if (verdict !== undefined && verdict.mismatch === undefined && !unaligned?.has(verdict)) {
          compacted.add(segment)
          continue
        }
        uncompacted.push(segment)
        const candidate = verdict ?? neverCompacted
        if (first === undefined || candidate.rank < first.rank) first = candidate
      }
    }
    const granularity = this.config.granularitySpec?.segmentGranularity ?? null
    const reason =
      first?.mismatch ?? `segmentGranularity is unknown, and segments are not aligned to [${granularity}]`
    return { uncompacted, compacted: compacted.content(), reason }
  }

  /**
   * Returns the verdicts about states without a granularity that some segment is not aligned to; undefined if there are none.
   * Such states are checked together: one unaligned segment makes all segments with the same state uncompacted.
   */
  private unalignedIn(groups: readonly SegmentGroup[]): ReadonlySet<StateVerdict> | undefined {
    const granularity = this.config.granularitySpec?.segmentGranularity ?? null
    if (granularity === null) return undefined
    let unaligned: Set<StateVerdict> | undefined
    for (const { interval, segments } of groups) {
      if (isAligned(interval, granularity)) continue
      for (const { lastCompactionState } of segments) {
        const verdict = lastCompactionState && this.verdictOf(lastCompactionState)
        if (!verdict?.mustAlign) continue
        unaligned ??= new Set()
        unaligned.add(verdict)
      }
    }
    return unaligned
  }
}

const noGroups: ReadonlySet<SegmentGroup> = new Set()

/** Returns the groups with a visible piece that ends after a time. Pieces are in order of time, so only the last ones are read. */
function groupsAfter(
  visible: readonly VisiblePiece[],
  pieces: readonly SegmentGroup[],
  time: number,
): ReadonlySet<SegmentGroup> {
  const found = new Set<SegmentGroup>()
  for (let index = visible.length - 1; index >= 0 && visible[index]!.interval.end > time; index -= 1)
    found.add(pieces[index]!)
  return found
}

// A group counts as compacted only if none of its intervals is skipped.
const fateRanks: Readonly<Record<SettledFate, number>> = { compacted: 0, leftOut: 1, skipped: 2 }

/** Returns the totals of the groups that are not shared. */
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

/** Returns the umbrella interval of at least one group. */
const timeOf = (groups: readonly SegmentGroup[]): Interval =>
  enclosingInterval(groups.map(({ interval }) => interval)) as Interval

function contentOf(segments: readonly CompactionSegment[]): Content {
  const sum = new ContentSum()
  for (const segment of segments) sum.add(segment)
  return sum.content()
}

class ContentSum {
  private count = 0
  private bytes = 0
  private rows: number | undefined = 0

  add({ sizeBytes, totalRows }: CompactionSegment): void {
    this.count += 1
    this.bytes += sizeBytes
    this.rows = this.rows === undefined || totalRows === undefined ? undefined : this.rows + totalRows
  }

  content(): Content {
    return { count: this.count, bytes: this.bytes, rows: this.rows }
  }
}
