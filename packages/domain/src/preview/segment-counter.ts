import type { DatasourceOutcome } from './datasource-outcome.ts'
import type { RuleTarget } from './rule-targets.ts'

/** Maximum number of segments in a block. */
export const maxBlock = 16_384

/** What all segments with the same target have in common: their replicas in tiers that treat them equally. */
interface CommonCopies {
  readonly after: number
  readonly unplaced: number
}

/** Counts the replicas of each segment in a block over all tiers. */
export class SegmentCounter {
  /** Replicas on historicals and brokers before the change. */
  readonly before: Float64Array
  /** Replicas on historicals and brokers after the change. */
  readonly after: Float64Array
  readonly loaded: Float64Array
  readonly dropped: Float64Array
  readonly unplaced: Float64Array
  private readonly datasource: DatasourceOutcome
  private readonly brokers: number
  /** Tiers in which segments with the same target may have different replicas. */
  private readonly detailed: readonly number[]
  private readonly commonOf = new Map<RuleTarget, CommonCopies>()

  constructor(datasource: DatasourceOutcome, tierCount: number) {
    const { before, placed, columns } = datasource
    const size = Math.min(maxBlock, columns.count)
    this.before = new Float64Array(size)
    this.after = new Float64Array(size)
    this.loaded = new Float64Array(size)
    this.dropped = new Float64Array(size)
    this.unplaced = new Float64Array(size)
    this.datasource = datasource
    this.brokers = tierCount
    this.detailed = Array.from({ length: tierCount }, (_, tier) => tier).filter(
      (tier) => before[tier] !== undefined || placed[tier] !== undefined,
    )
  }

  /** Returns the number of steps that a block of segments takes. */
  work(segments: number): number {
    return segments * (1 + this.detailed.length)
  }

  /** Counts the segments from position `from` to `to`, exclusive, which have the same target. */
  count(target: RuleTarget, from: number, to: number): void {
    const { after, unplaced } = this.common(target)
    const length = to - from
    this.before.fill(0, 0, length)
    this.after.fill(after, 0, length)
    this.loaded.fill(after, 0, length)
    this.dropped.fill(0, 0, length)
    this.unplaced.fill(unplaced, 0, length)
    for (const tier of this.detailed) this.countTier(tier, target, from, length)
    this.countBrokers(target, from, length)
  }

  private common(target: RuleTarget): CommonCopies {
    let common = this.commonOf.get(target)
    if (common === undefined) {
      const isDetailed = new Set(this.detailed)
      const others = target.holders.filter(({ holder }) => holder < this.brokers && !isDetailed.has(holder))
      common = {
        after: others.reduce((sum, { copies }) => sum + copies, 0),
        unplaced: others.reduce((sum, { copies, due }) => sum + due - copies, 0),
      }
      this.commonOf.set(target, common)
    }
    return common
  }

  private countTier(tier: number, target: RuleTarget, from: number, length: number): void {
    const before = this.datasource.before[tier]
    const placed = this.datasource.placed[tier]
    const { copies, due } = target.byHolder.get(tier) ?? { copies: 0, due: 0 }
    for (let at = 0; at < length; at += 1) {
      const old = before?.[from + at] ?? 0
      const next = placed?.[from + at] ?? copies
      this.before[at]! += old
      this.after[at]! += next
      if (next > old) this.loaded[at]! += next - old
      else this.dropped[at]! += old - next
      // A tier may keep more replicas than its rule requires while other tiers lack some.
      this.unplaced[at]! += Math.max(0, due - next)
    }
  }

  private countBrokers(target: RuleTarget, from: number, length: number): void {
    const before = this.datasource.before[this.brokers]
    const placed = this.datasource.placed[this.brokers]
    const copies = target.byHolder.get(this.brokers)?.copies ?? 0
    if (before === undefined && placed === undefined && copies === 0) return
    for (let at = 0; at < length; at += 1) {
      const old = before?.[from + at] ?? 0
      this.before[at]! += old
      // Segments that a broadcast rule loaded on brokers stay there under a load rule.
      this.after[at]! += target.action === 'load' ? old : (placed?.[from + at] ?? copies)
    }
  }
}
