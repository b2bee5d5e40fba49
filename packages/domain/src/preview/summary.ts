import type { Interval } from '../time/index.ts'
import type { DatasourceOutcome } from './datasource-outcome.ts'
import type { Outcome } from './decide-outcome.ts'
import type { RuleTarget } from './rule-targets.ts'
import type { SegmentColumns, Tally } from './segments.ts'
import type { PreviewTier } from './servers-by-tier.ts'
import {
  addChange,
  addCopies,
  addTally,
  type CopyTally,
  noChange,
  noCopies,
  type TierChange,
} from './tallies.ts'

/** How a datasource changes. */
export interface DatasourceSummary {
  readonly dataSource: string
  /** Changes by tier, in the order of the cluster's tiers. */
  readonly tiers: readonly TierChange[]
  readonly markedUnused: Tally
  /** Intervals of the oldest and the newest segment that stay used. Undefined if no segment does. */
  readonly oldestKept: Interval | undefined
  readonly newestKept: Interval | undefined
}

/** What a tier would load. */
export interface TierSummary {
  readonly tier: string
  readonly servers: number
  /** Infinity means no limit. */
  readonly capacityBytes: number
  readonly bytesBefore: number
  readonly bytesAfter: number
  /** Replicas that rules require and no server has space for. */
  readonly doesNotFit: CopyTally
}

// Number of segments between two pauses.
const slice = 65_536

/** Returns the summary of a datasource and, by tier, its replicas that do not fit. Yields regularly. */
export function* summarize(
  datasource: DatasourceOutcome,
  outcome: Outcome,
): Generator<undefined, { readonly summary: DatasourceSummary; readonly unplaced: readonly CopyTally[] }> {
  const { columns, stretches, targetOf } = datasource
  const { bytesBefore } = columns
  const { tiers } = outcome.cluster
  const changes = tiers.map(noChange)
  const unplaced = tiers.map(noCopies)
  const markedUnused = { ...columns.overshadowed }
  // Tiers in which segments of the same range may have different replicas.
  const detailed = [...tiers.keys()].filter(
    (tier) => datasource.before[tier] !== undefined || datasource.placed[tier] !== undefined,
  )
  const byTarget = new Map<RuleTarget, Tally>()
  let seen = 0
  for (const { from, to, rule } of stretches) {
    const target = targetOf(rule)
    const bytes = bytesBefore[to]! - bytesBefore[from]!
    const sum = byTarget.get(target) ?? { segments: 0, bytes: 0 }
    byTarget.set(target, { segments: sum.segments + to - from, bytes: sum.bytes + bytes })
    for (const tier of detailed) {
      const before = datasource.before[tier]
      const placed = datasource.placed[tier]
      const { copies, due } = target.byHolder.get(tier) ?? { copies: 0, due: 0 }
      for (let position = from; position < to; position += 1) {
        seen += 1
        if (seen % slice === 0) yield
        const sizeBytes = bytesBefore[position + 1]! - bytesBefore[position]!
        const after = placed === undefined ? copies : placed[position]!
        addChange(changes[tier]!, 1, sizeBytes, before === undefined ? 0 : before[position]!, after)
        // A tier may keep more replicas than its rule requires while other tiers lack some.
        addCopies(unplaced[tier]!, 1, Math.max(0, due - after), sizeBytes)
      }
    }
  }
  const isDetailed = new Set(detailed)
  for (const [{ action, holders }, { segments, bytes }] of byTarget) {
    if (action === 'drop') {
      markedUnused.segments += segments
      markedUnused.bytes += bytes
    }
    yield
    for (const { holder, copies, due } of holders) {
      if (holder >= tiers.length || isDetailed.has(holder)) continue
      addChange(changes[holder]!, segments, bytes, 0, copies)
      addCopies(unplaced[holder]!, segments, due - copies, bytes)
    }
  }
  for (const tier of tiers.keys()) {
    const copies = datasource.overshadowedBefore[tier]!
    addTally(changes[tier]!.before, copies)
    addTally(changes[tier]!.dropped, copies)
  }
  const summary = {
    dataSource: columns.dataSource,
    tiers: changes,
    markedUnused,
    ...keptIntervals(columns, stretches, ({ rule }) => targetOf(rule).action !== 'drop'),
  }
  return { summary, unplaced }
}

/** Returns the intervals of the oldest and the newest segment in the ranges that are kept. */
export function keptIntervals<Part extends { readonly from: number; readonly to: number }>(
  { starts, ends }: SegmentColumns,
  stretches: readonly Part[],
  isKept: (stretch: Part) => boolean,
): Pick<DatasourceSummary, 'oldestKept' | 'newestKept'> {
  let oldest: number | undefined
  let newest: number | undefined
  for (const stretch of stretches) {
    if (!isKept(stretch)) continue
    // Starts and ends never decrease within a range.
    const { from } = stretch
    const last = stretch.to - 1
    if (oldest === undefined || starts[from]! < starts[oldest]!) oldest = from
    if (newest === undefined || ends[last]! > ends[newest]!) newest = last
  }
  const intervalAt = (position: number | undefined): Interval | undefined =>
    position === undefined ? undefined : { start: starts[position]!, end: ends[position]! }
  return { oldestKept: intervalAt(oldest), newestKept: intervalAt(newest) }
}

/** Returns the capacity of a tier in bytes, or Infinity if a server has no limit. */
export function capacityOf({ servers }: PreviewTier): number {
  return servers.reduce((sum, { maxSizeBytes }) => sum + maxSizeBytes, 0)
}
