import type { Interval } from '../time/index.ts'
import type { PreviewTier, RuleTarget } from './cluster.ts'
import type { DatasourceOutcome, Outcome } from './outcome.ts'
import type { SegmentColumns, Tally } from './segments.ts'
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
  /** By tier, in the order of the cluster's tiers. */
  readonly tiers: readonly TierChange[]
  readonly markedUnused: Tally
  /** The interval of the oldest and of the newest segment that stays used; undefined where none does. */
  readonly oldestKept: Interval | undefined
  readonly newestKept: Interval | undefined
}

/** What a tier would hold. */
export interface TierSummary {
  readonly tier: string
  readonly servers: number
  /** Infinity without limit. */
  readonly capacityBytes: number
  readonly bytesBefore: number
  readonly bytesAfter: number
  /** Copies that rules want and no server can take. */
  readonly doesNotFit: CopyTally
}

// Segments that are looked at between two pauses.
const slice = 65_536

/** The summary of a datasource and, by tier, what finds no room of it; pauses now and then. */
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
  // Tiers in which segments of one stretch may differ from each other.
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
        addCopies(unplaced[tier]!, 1, due - after, sizeBytes)
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

/** The intervals of the oldest and the newest segment in those stretches that are kept. */
export function keptIntervals<Part extends { readonly from: number; readonly to: number }>(
  { starts, ends }: SegmentColumns,
  stretches: readonly Part[],
  isKept: (stretch: Part) => boolean,
): Pick<DatasourceSummary, 'oldestKept' | 'newestKept'> {
  let oldest: number | undefined
  let newest: number | undefined
  for (const stretch of stretches) {
    if (!isKept(stretch)) continue
    // Along a stretch neither starts nor ends go back.
    const { from } = stretch
    const last = stretch.to - 1
    if (oldest === undefined || starts[from]! < starts[oldest]!) oldest = from
    if (newest === undefined || ends[last]! > ends[newest]!) newest = last
  }
  const intervalAt = (position: number | undefined): Interval | undefined =>
    position === undefined ? undefined : { start: starts[position]!, end: ends[position]! }
  return { oldestKept: intervalAt(oldest), newestKept: intervalAt(newest) }
}

/** The bytes that the servers of a tier can hold; Infinity without limit. */
export function capacityOf({ servers }: PreviewTier): number {
  return servers.reduce((sum, { maxSizeBytes }) => sum + maxSizeBytes, 0)
}
