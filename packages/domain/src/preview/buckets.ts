import { dayMs, formatInstant, formatInterval, type Interval } from '../time/index.ts'
import type { AnsweredBuckets } from './answer.ts'
import type { DatasourceOutcome } from './datasource-outcome.ts'
import type { Outcome } from './decide-outcome.ts'
import type { CopyChange } from './pieces.ts'
import type { SegmentColumns } from './segments.ts'
import { lowerBound, upperBound } from './sorted.ts'

/** Bytes over time: in buckets of equal width, by tier before and after a change. */
export interface Buckets {
  /** Start of the first bucket. */
  readonly start: number
  readonly widthMs: number
  readonly count: number
  /** From the start of the first segment to the end of the last one, or the requested part of the time. */
  readonly covered: Interval
  /** Bytes of all replicas, in the order of the cluster's tiers. Undefined for tiers without replicas. */
  readonly tiers: readonly (TierBuckets | undefined)[]
  /** Bytes of visible segments without any replica afterward. */
  readonly unqueryable: readonly number[]
  /** Bytes of visible segments that a drop rule marks as unused. */
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

  /** Adds segments that are within one bucket. */
  addWithin(bucket: number, bytes: number): void {
    if (bytes === 0) return
    this.isEmpty = false
    this.parts[bucket]! += bytes
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

type CoveringAxis = Axis & Pick<Buckets, 'covered'>

/** Bytes over time to which segments add the bytes of some copies. */
export interface Share {
  readonly series: BytesOverTime
  readonly copies: number
}

/**
 * Adds the segments from position `from` to `to`, exclusive, which are in one chain. Segments within one bucket are added
 * together.
 */
function addPositions(
  { starts, ends, bytesBefore }: SegmentColumns,
  axis: Axis,
  range: { readonly from: number; readonly to: number },
  shares: readonly Share[],
): void {
  if (shares.length === 0) return
  const from = upperBound(ends, axis.start, range.from, range.to)
  const to = lowerBound(starts, axis.start + axis.count * axis.widthMs, from, range.to)
  for (let position = from; position < to; ) {
    const [start, end] = [starts[position]!, ends[position]!]
    const bucket = Math.floor((start - axis.start) / axis.widthMs)
    const bucketEnd = axis.start + (bucket + 1) * axis.widthMs
    const isWithin = bucket >= 0 && end <= bucketEnd
    const next = isWithin ? upperBound(ends, bucketEnd, position + 1, to) : position + 1
    const bytes = bytesBefore[next]! - bytesBefore[position]!
    for (const { series, copies } of shares) {
      if (isWithin) series.addWithin(bucket, bytes * copies)
      else series.add(start, end, bytes * copies)
    }
    position = next
  }
}

/** Adds all visible segments of a datasource, with the shares of their changes. Yields regularly. */
export function* addPieces(
  { columns, pieces }: DatasourceOutcome,
  axis: Axis,
  sharesOf: (change: CopyChange) => readonly Share[],
): Generator<undefined, void> {
  const { ends, changeAt, changes } = pieces
  const shares = changes.map(sharesOf)
  let from = 0
  let work = 0
  for (let piece = 0; piece < ends.length; piece += 1) {
    const to = ends[piece]!
    const ofPiece = shares[changeAt[piece]!]!
    // A long piece may have segments in many buckets.
    work += ofPiece.length * Math.min(to - from, axis.count)
    if (work >= slice) {
      work = 0
      yield
    }
    addPositions(columns, axis, { from, to }, ofPiece)
    from = to
  }
}

// Number of added segments or buckets between two pauses.
const slice = 16_384

/** Returns an axis with at most `max` buckets for the visible segments. Undefined if none has a start or an end. */
function axisOf(datasources: readonly DatasourceOutcome[], max: number): CoveringAxis | undefined {
  const extents = datasources.flatMap(({ columns: { extent } }) => extent ?? [])
  if (extents.length === 0) return undefined
  const first = extents.reduce((min, { start }) => Math.min(min, start), Infinity)
  const last = extents.reduce((max, { end }) => Math.max(max, end), -Infinity)
  return axisBetween(first, last, max)
}

/** Returns an axis with at most `max` buckets, from the last bound of a bucket before `first` on. */
function axisBetween(first: number, last: number, max: number): CoveringAxis {
  const countOf = (widthMs: number): number => Math.ceil(last / widthMs) - Math.floor(first / widthMs)
  const longest = widthsMs.at(-1)!
  const widthMs =
    widthsMs.find((width) => countOf(width) <= max) ??
    longest * Math.ceil((last - first) / longest / Math.max(1, max - 1))
  const start = Math.floor(first / widthMs) * widthMs
  const covered = { start: first, end: last }
  return { start, widthMs, count: Math.ceil((last - start) / widthMs), covered }
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
  const axis = part ? axisBetween(part.start, part.end, max) : axisOf(shown, max)
  if (axis === undefined) return undefined
  const series = () => new BytesOverTime(axis)
  const tiers = cluster.tiers.slice(0, maxTiers).map(() => ({ before: series(), after: series() }))
  const [unqueryable, unused] = [series(), series()]
  const sharesOf = (change: CopyChange): Share[] => {
    const shares: Share[] = []
    if (change.after === 0) shares.push({ series: unqueryable, copies: 1 })
    if (change.target.action === 'drop') shares.push({ series: unused, copies: 1 })
    change.forEachTier((tier, before, after) => {
      const ofTier = tiers[tier]
      if (ofTier && before > 0) shares.push({ series: ofTier.before, copies: before })
      if (ofTier && after > 0) shares.push({ series: ofTier.after, copies: after })
    })
    return shares
  }
  for (const datasource of shown) yield* addPieces(datasource, axis, sharesOf)
  return {
    ...axis,
    tiers: tiers.map(({ before, after }) =>
      before.isEmpty && after.isEmpty ? undefined : { before: before.sums(), after: after.sums() },
    ),
    unqueryable: unqueryable.sums(),
    unused: unused.sums(),
  }
}

/** Returns buckets as JSON, with the names of tiers. */
export function formatBuckets(
  { start, widthMs, count, covered, tiers, unqueryable, unused }: Buckets,
  names: readonly string[],
): AnsweredBuckets {
  return {
    start: formatInstant(start),
    widthMs,
    count,
    covered: formatInterval(covered),
    tiers: Object.fromEntries(
      tiers.flatMap((tier, index) => (tier === undefined ? [] : [[names[index], tier]])),
    ),
    unqueryable,
    unused,
  }
}
