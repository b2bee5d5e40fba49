import { dayMs, type Interval } from '../time/index.ts'

/** The segments of one datasource, accessed by index, wherever they are stored. */
export interface PreviewSegments {
  readonly dataSource: string
  readonly count: number
  start(index: number): number
  end(index: number): number
  sizeBytes(index: number): number
  version(index: number): string
  partitionNum(index: number): number
  isOvershadowed(index: number): boolean
  /** Returns a number that stays the same as long as the segment is used. */
  key?(index: number): number
  /** Calls `visit` for each server that serves the segment, with its index in the list of current servers. */
  forEachCopy(index: number, visit: (server: number) => void): void
}

/**
 * The visible segments of one datasource, in columns. They form chains. Starts and ends never decrease along a chain,
 * so each rule applies to contiguous ranges of it. Data with a single granularity forms one chain.
 */
export interface SegmentColumns {
  readonly dataSource: string
  readonly count: number
  /** Source index of each segment. */
  readonly indexes: Uint32Array
  readonly starts: Float64Array
  readonly ends: Float64Array
  /** Total bytes of all segments before each position. The last element is the total. */
  readonly bytesBefore: Float64Array
  /** Positions where chains end, exclusive. */
  readonly chainEnds: readonly number[]
  /** The size of the largest segment in each block of positions. */
  readonly largestBytes: Float64Array
  /** Positions of segments whose UTC days do not continue those of the segment before. */
  readonly dayGaps: Uint32Array
  /** From the first finite start or end to the last. Undefined if there are none. */
  readonly extent: Interval | undefined
  readonly overshadowed: Tally
  /** Source indexes of the overshadowed segments. */
  readonly overshadowedIndexes: Uint32Array
}

/** Number of segments and their bytes. */
export interface Tally {
  readonly segments: number
  readonly bytes: number
}

// Number of segments between two pauses.
const slice = 16_384

// Number of segments in a block with a known largest segment.
const largestBlock = 1024

// Maximum number of chains to search for each segment. A new chain beyond this limit closes the oldest.
const maxOpenChains = 64

/** Converts segments into columns. Yields regularly. */
export function* columnsOf(source: PreviewSegments): Generator<undefined, SegmentColumns> {
  const { count, dataSource } = source
  const visible = new Uint32Array(count)
  const hidden = new Uint32Array(count)
  let visibleCount = 0
  let hiddenCount = 0
  let hiddenBytes = 0
  const startOf = new Float64Array(count)
  const endOf = new Float64Array(count)
  // Does not depend on indexes, because the same segments may be stored in different orders.
  const order = (a: number, b: number): number => {
    if (startOf[a] !== startOf[b]) return startOf[a]! < startOf[b]! ? -1 : 1
    if (endOf[a] !== endOf[b]) return endOf[a]! < endOf[b]! ? -1 : 1
    const [first, second] = [source.version(a), source.version(b)]
    if (first !== second) return first < second ? -1 : 1
    return source.partitionNum(a) - source.partitionNum(b) || a - b
  }
  let isSorted = true
  let last = 0
  for (let index = 0; index < count; index += 1) {
    if (index % slice === 0) yield
    const start = source.start(index)
    const end = source.end(index)
    startOf[index] = start
    endOf[index] = end
    if (source.isOvershadowed(index)) {
      hidden[hiddenCount] = index
      hiddenCount += 1
      hiddenBytes += source.sizeBytes(index)
    } else {
      if (visibleCount > 0) isSorted &&= order(last, index) <= 0
      last = index
      visible[visibleCount] = index
      visibleCount += 1
    }
  }
  const sorted = visible.subarray(0, visibleCount)
  if (!isSorted) {
    sorted.sort(order)
  }
  yield
  const { order: indexes, chainEnds } = intoChains(sorted, endOf)
  return {
    dataSource,
    count: visibleCount,
    indexes,
    chainEnds,
    ...(yield* columnsInOrder(source, indexes, startOf, endOf)),
    overshadowed: { segments: hiddenCount, bytes: hiddenBytes },
    overshadowedIndexes: hidden.slice(0, hiddenCount),
  }
}

type OrderedColumns = Pick<
  SegmentColumns,
  'starts' | 'ends' | 'bytesBefore' | 'largestBytes' | 'dayGaps' | 'extent'
>

function* columnsInOrder(
  source: PreviewSegments,
  order: Uint32Array,
  startOf: Float64Array,
  endOf: Float64Array,
): Generator<undefined, OrderedColumns> {
  const { length } = order
  const starts = new Float64Array(length)
  const ends = new Float64Array(length)
  const bytesBefore = new Float64Array(length + 1)
  const largestBytes = new Float64Array(Math.ceil(length / largestBlock))
  const dayGaps: number[] = []
  let [first, last, lastDay] = [Infinity, -Infinity, -Infinity]
  for (let position = 0; position < length; position += 1) {
    if (position % slice === 0) yield
    const index = order[position]!
    const [start, end, sizeBytes] = [startOf[index]!, endOf[index]!, source.sizeBytes(index)]
    starts[position] = start
    ends[position] = end
    bytesBefore[position + 1] = bytesBefore[position]! + sizeBytes
    const block = Math.floor(position / largestBlock)
    if (sizeBytes > largestBytes[block]!) largestBytes[block] = sizeBytes
    if (Math.floor(start / dayMs) > lastDay) dayGaps.push(position)
    lastDay = Math.ceil(end / dayMs)
    for (const instant of [start, end]) {
      if (!Number.isFinite(instant)) continue
      if (instant < first) first = instant
      if (instant > last) last = instant
    }
  }
  const extent = first < last ? { start: first, end: last } : undefined
  return { starts, ends, bytesBefore, largestBytes, dayGaps: Uint32Array.from(dayGaps), extent }
}

/** Returns the size of the largest segment from position `from` to `to`, exclusive. */
export function largestSizeIn(
  { bytesBefore, largestBytes }: SegmentColumns,
  from: number,
  to: number,
): number {
  let largest = 0
  for (let position = from; position < to; ) {
    const isBlock = position % largestBlock === 0 && position + largestBlock <= to
    const sizeBytes = isBlock
      ? largestBytes[position / largestBlock]!
      : bytesBefore[position + 1]! - bytesBefore[position]!
    if (sizeBytes > largest) largest = sizeBytes
    position += isBlock ? largestBlock : 1
  }
  return largest
}

/** Splits segments, sorted by start, into chains along which ends never decrease either. */
function intoChains(
  sorted: Uint32Array,
  endOf: Float64Array,
): { order: Uint32Array; chainEnds: readonly number[] } {
  const chainOf = new Uint32Array(sorted.length)
  const open: { readonly chain: number; lastEnd: number }[] = []
  const lengths: number[] = []
  for (let at = 0; at < sorted.length; at += 1) {
    const end = endOf[sorted[at]!]!
    let into = open.find(({ lastEnd }) => lastEnd <= end)
    if (into === undefined) {
      if (open.length === maxOpenChains) open.shift()
      into = { chain: lengths.length, lastEnd: end }
      open.push(into)
      lengths.push(0)
    }
    into.lastEnd = end
    chainOf[at] = into.chain
    lengths[into.chain]! += 1
  }
  const nextOf = new Uint32Array(lengths.length)
  const chainEnds: number[] = []
  let from = 0
  lengths.forEach((length, chain) => {
    nextOf[chain] = from
    from += length
    chainEnds.push(from)
  })
  const order = new Uint32Array(sorted.length)
  for (let at = 0; at < sorted.length; at += 1) {
    const chain = chainOf[at]!
    order[nextOf[chain]!] = sorted[at]!
    nextOf[chain]! += 1
  }
  return { order, chainEnds }
}
