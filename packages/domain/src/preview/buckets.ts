import { dayMs, formatInstant, type Interval } from '../time/index.ts'
import type { DatasourceOutcome } from './datasource-outcome.ts'
import type { Outcome } from './decide-outcome.ts'
import type { RuleTarget } from './rule-targets.ts'
import { maxBlock, SegmentCounter } from './segment-counter.ts'

/** Bytes over time: in buckets of equal width, by tier before and after a change. */
export interface Buckets {
  /** Start of the first bucket. */
  readonly start: number
  readonly widthMs: number
  readonly count: number
  /** Bytes of all replicas, in the order of the cluster's tiers. Undefined for tiers without replicas. */
  readonly tiers: readonly (TierBuckets | undefined)[]
  /** Bytes of visible segments without any replica afterwards. */
  readonly unqueryable: readonly number[]
  /** Bytes of visible segments that a drop rule marks unused. */
  readonly unused: readonly number[]
}

interface TierBuckets {
  readonly before: readonly number[]
  readonly after: readonly number[]
}

/** Maximum number of buckets in an answer. */
export const maxBuckets = 500
// Maximum number of tiers in an answer.
const maxTiers = 50

const hourMs = 3_600_000
const widthsMs = [
  60_000,
  5 * 60_000,
  15 * 60_000,
  hourMs,
  6 * hourMs,
  12 * hourMs,
  ...[1, 2, 3, 7, 14, 28, 56, 91, 182, 364].map((days) => days * dayMs),
]

/** Sums amounts over time. A segment spreads evenly over its interval. */
export class BytesOverTime {
  /** Bytes in buckets that a segment covers only in part. */
  private readonly parts: Float64Array
  /** Changes from bucket to bucket of the bytes of segments that cover it entirely. */
  private readonly changes: Float64Array
  private readonly axis: Axis
  isEmpty = true

  constructor(axis: Axis) {
    this.axis = axis
    this.parts = new Float64Array(axis.count)
    this.changes = new Float64Array(axis.count + 1)
  }

  add(start: number, end: number, bytes: number): void {
    if (bytes === 0) return
    const { axis, parts, changes } = this
    // Segments without a start or end are drawn over the entire axis.
    const from = Math.max(0, (start - axis.start) / axis.widthMs)
    const to = Math.min(axis.count, (end - axis.start) / axis.widthMs)
    if (to <= from) return
    this.isEmpty = false
    const isCut = Number.isFinite(start) && Number.isFinite(end) && to - from < (end - start) / axis.widthMs
    const bytesOnAxis = isCut ? (bytes * (to - from) * axis.widthMs) / (end - start) : bytes
    const first = Math.min(axis.count - 1, Math.floor(from))
    const last = Math.ceil(to) - 1
    if (last <= first) {
      parts[first]! += bytesOnAxis
      return
    }
    const perBucket = bytesOnAxis / (to - from)
    parts[first]! += perBucket * (first + 1 - from)
    parts[last]! += perBucket * (to - last)
    changes[first + 1]! += perBucket
    changes[last]! -= perBucket
  }

  sums(): number[] {
    let whole = 0
    return Array.from(this.parts, (part, index) => {
      whole += this.changes[index]!
      return Math.max(0, Math.round(part + whole))
    })
  }
}

/** Buckets of equal width. */
export interface Axis {
  readonly start: number
  readonly widthMs: number
  readonly count: number
}

/** Returns an axis with at most `max` buckets for the visible segments. Undefined if none has a start and an end. */
function* axisOf(
  datasources: readonly DatasourceOutcome[],
  max: number,
): Generator<undefined, Axis | undefined> {
  let first = Infinity
  let last = -Infinity
  for (const { columns } of datasources) {
    for (let position = 0; position < columns.count; position += 1) {
      if (position % maxBlock === 0) yield
      for (const instant of [columns.starts[position]!, columns.ends[position]!]) {
        if (!Number.isFinite(instant)) continue
        first = Math.min(first, instant)
        last = Math.max(last, instant)
      }
    }
  }
  if (first >= last) return undefined
  return axisBetween(first, last, max)
}

/** Returns an axis with at most `max` buckets, from the last bound of a bucket before `first` on. */
function axisBetween(first: number, last: number, max: number): Axis {
  const countOf = (widthMs: number): number => Math.ceil(last / widthMs) - Math.floor(first / widthMs)
  const longest = widthsMs.at(-1)!
  const widthMs =
    widthsMs.find((width) => countOf(width) <= max) ??
    longest * Math.ceil((last - first) / longest / Math.max(1, max - 1))
  const start = Math.floor(first / widthMs) * widthMs
  return { start, widthMs, count: Math.ceil((last - start) / widthMs) }
}

/**
 * Returns the bytes over time of some datasources, in at most `max` buckets. They cover all of the data, or the given
 * part of the time. Yields regularly.
 */
export function* bucketsOf(
  { cluster, datasources }: Outcome,
  concerned: ReadonlySet<string>,
  max: number,
  part?: Interval,
): Generator<undefined, Buckets | undefined> {
  const shown = datasources.filter(({ columns }) => concerned.has(columns.dataSource))
  const axis = part ? axisBetween(part.start, part.end, max) : yield* axisOf(shown, max)
  if (axis === undefined) return undefined
  const series = () => new BytesOverTime(axis)
  const tiers = cluster.tiers.slice(0, maxTiers).map(() => ({ before: series(), after: series() }))
  const [unqueryable, unused] = [series(), series()]
  for (const datasource of shown) {
    const { columns, stretches, targetOf } = datasource
    const counter = new SegmentCounter(datasource, cluster.tiers.length)
    for (const { from, to, rule } of stretches) {
      const target = targetOf(rule)
      for (let block = from; block < to; block += maxBlock) {
        const blockEnd = Math.min(to, block + maxBlock)
        counter.count(target, block, blockEnd)
        yield
        for (let position = block; position < blockEnd; position += 1) {
          const [start, end] = [columns.starts[position]!, columns.ends[position]!]
          const bytes = columns.bytesBefore[position + 1]! - columns.bytesBefore[position]!
          if (counter.after[position - block] === 0) unqueryable.add(start, end, bytes)
          if (target.action === 'drop') unused.add(start, end, bytes)
        }
        for (const [tier, { before, after }] of tiers.entries()) {
          const held = datasource.before[tier]
          const copies = copiesAt(datasource, target, tier)
          if (held === undefined && copies === undefined) continue
          yield
          for (let position = block; position < blockEnd; position += 1) {
            const [start, end] = [columns.starts[position]!, columns.ends[position]!]
            const bytes = columns.bytesBefore[position + 1]! - columns.bytesBefore[position]!
            before.add(start, end, bytes * (held?.[position] ?? 0))
            after.add(start, end, bytes * (copies?.(position) ?? 0))
          }
        }
      }
    }
  }
  return {
    ...axis,
    tiers: tiers.map(({ before, after }) =>
      before.isEmpty && after.isEmpty ? undefined : { before: before.sums(), after: after.sums() },
    ),
    unqueryable: unqueryable.sums(),
    unused: unused.sums(),
  }
}

/** Returns the replicas of each segment in a tier after the change; undefined if none has any. */
function copiesAt(
  { placed }: DatasourceOutcome,
  target: RuleTarget,
  tier: number,
): ((position: number) => number) | undefined {
  const ofTier = placed[tier]
  if (ofTier !== undefined) return (position) => ofTier[position]!
  const copies = target.byHolder.get(tier)?.copies ?? 0
  return copies === 0 ? undefined : () => copies
}

/** Returns buckets as JSON, with the names of tiers. */
export function formatBuckets(
  { start, widthMs, count, tiers, unqueryable, unused }: Buckets,
  names: readonly string[],
): Record<string, unknown> {
  return {
    start: formatInstant(start),
    widthMs,
    count,
    tiers: Object.fromEntries(
      tiers.flatMap((tier, index) => (tier === undefined ? [] : [[names[index], tier]])),
    ),
    unqueryable,
    unused,
  }
}
