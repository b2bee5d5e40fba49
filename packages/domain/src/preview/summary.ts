import type { Interval } from '../time/index.ts'
import type { DatasourceOutcome } from './datasource-outcome.ts'
import type { Outcome } from './decide-outcome.ts'
import { tallyChanges } from './pieces.ts'
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

/** Returns the summary of a datasource and, by tier, its replicas that do not fit. Yields regularly. */
export function* summarize(
  { columns, stretches, targetOf, pieces, held }: DatasourceOutcome,
  { cluster }: Outcome,
): Generator<undefined, { readonly summary: DatasourceSummary; readonly unplaced: readonly CopyTally[] }> {
  const changes = cluster.tiers.map(noChange)
  const unplaced = cluster.tiers.map(noCopies)
  const markedUnused = { ...columns.overshadowed }
  const tallies = yield* tallyChanges(pieces, columns)
  for (const [index, change] of pieces.changes.entries()) {
    yield
    const { segments, bytes } = tallies[index]!
    if (change.target.action === 'drop') {
      markedUnused.segments += segments
      markedUnused.bytes += bytes
    }
    change.forEachTier((tier, before, after, due) => {
      addChange(changes[tier]!, segments, bytes, before, after)
      // A tier may keep more replicas than its rule requires while other tiers lack some.
      addCopies(unplaced[tier]!, segments, Math.max(0, due - after), bytes)
    })
  }
  const places = new Map(held.tiers.map((name, place) => [name, place]))
  for (const [tier, { name }] of cluster.tiers.entries()) {
    const place = places.get(name)
    if (place === undefined) continue
    addTally(changes[tier]!.before, held.overshadowed.byTier[place]!)
    addTally(changes[tier]!.dropped, held.overshadowed.byTier[place]!)
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
