/** The segments of one datasource as a preview reads them: numbered from 0, wherever they are kept. */
export interface PreviewSegments {
  readonly dataSource: string
  readonly count: number
  start(index: number): number
  end(index: number): number
  sizeBytes(index: number): number
  version(index: number): string
  partitionNum(index: number): number
  isOvershadowed(index: number): boolean
  /** Calls `visit` for each server that serves the segment, with its number in the list of servers before the change. */
  forEachCopy(index: number, visit: (server: number) => void): void
}

/**
 * The segments of one datasource that newer versions do not hide, in columns. They lie in chains: along a chain both
 * starts and ends never go back, so that a rule covers stretches of it. Data of one granularity is one chain.
 */
export interface SegmentColumns {
  readonly dataSource: string
  readonly count: number
  /** The number of each segment where it came from. */
  readonly indexes: Uint32Array
  readonly starts: Float64Array
  readonly ends: Float64Array
  /** The bytes of all segments before each position, and of all at the end. */
  readonly bytesBefore: Float64Array
  /** The positions at which chains end. */
  readonly chainEnds: readonly number[]
  readonly overshadowed: Tally
  /** The numbers of the overshadowed segments where they came from. */
  readonly overshadowedIndexes: Uint32Array
}

/** How many segments and how many bytes. */
export interface Tally {
  readonly segments: number
  readonly bytes: number
}

// Segments that are looked at between two pauses.
const slice = 16_384

// Chains that are looked through for each segment at the most; beyond that the oldest is closed for a new one.
const mostOpenChains = 64

/** Puts segments into columns; pauses now and then. */
export function* columnsOf(source: PreviewSegments): Generator<undefined, SegmentColumns> {
  const { count, dataSource } = source
  const visible = new Uint32Array(count)
  const hidden = new Uint32Array(count)
  let visibleCount = 0
  let hiddenCount = 0
  let hiddenBytes = 0
  const startOf = new Float64Array(count)
  const endOf = new Float64Array(count)
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
      if (visibleCount > 0)
        isSorted &&= startOf[last]! < start || (startOf[last]! === start && endOf[last]! <= end)
      last = index
      visible[visibleCount] = index
      visibleCount += 1
    }
  }
  const sorted = visible.subarray(0, visibleCount)
  if (!isSorted) {
    sorted.sort((a, b) => {
      const [first, second] = [startOf[a]!, startOf[b]!]
      if (first !== second) return first < second ? -1 : 1
      return endOf[a]! < endOf[b]! ? -1 : endOf[a]! > endOf[b]! ? 1 : a - b
    })
  }
  yield
  const { order, chainEnds } = intoChains(sorted, endOf)
  const starts = new Float64Array(visibleCount)
  const ends = new Float64Array(visibleCount)
  const bytesBefore = new Float64Array(visibleCount + 1)
  for (let position = 0; position < visibleCount; position += 1) {
    if (position % slice === 0) yield
    const index = order[position]!
    starts[position] = startOf[index]!
    ends[position] = endOf[index]!
    bytesBefore[position + 1] = bytesBefore[position]! + source.sizeBytes(index)
  }
  return {
    dataSource,
    count: visibleCount,
    indexes: order,
    starts,
    ends,
    bytesBefore,
    chainEnds,
    overshadowed: { segments: hiddenCount, bytes: hiddenBytes },
    overshadowedIndexes: hidden.slice(0, hiddenCount),
  }
}

/** Splits segments in the order of their starts into chains along which the ends do not go back either. */
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
      if (open.length === mostOpenChains) open.shift()
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
