import { isInRegion, type RuleRegion } from './region.ts'

/** Returns whether every segment in the inner region is also in the outer region. */
const covers = (outer: RuleRegion, inner: RuleRegion): boolean =>
  outer.startFrom <= inner.startFrom &&
  outer.startBefore >= inner.startBefore &&
  outer.endAfter <= inner.endAfter &&
  outer.endUpTo >= inner.endUpTo

/** A region with one bound for each end of a segment. It matches if `high >= x` and `low <= y` (or `>` and `<`). */
interface Corner {
  readonly index: number
  readonly high: number
  readonly low: number
}

interface Level {
  /** Values of `high` in each block, in descending order. */
  readonly highs: Float64Array
  /** Minimum `low` in the block up to each position. */
  readonly minLows: Float64Array
}

/**
 * Finds the first corner in a list whose `high` is above one bound and whose `low` is below another. Blocks of 1, 2,
 * 4, ... corners are each sorted, so a search takes O(log² n) comparisons for any corners.
 */
class CornerTree {
  private readonly corners: readonly Corner[]
  private readonly levels: readonly Level[]

  constructor(corners: readonly Corner[]) {
    this.corners = corners
    const count = corners.length
    let order = Uint32Array.from(corners.keys())
    const levels = [this.levelOf(order, 1)]
    for (let size = 2; size < 2 * count; size *= 2) {
      order = this.mergeBlocks(order, size)
      levels.push(this.levelOf(order, size))
    }
    this.levels = levels
  }

  /** Returns the index of the first matching corner at list index `from` or later, or Infinity. */
  first(x: number, y: number, isStrict: boolean, from: number): number {
    return this.firstInBlock(this.levels.length - 1, 0, x, y, isStrict, from)
  }

  private firstInBlock(
    level: number,
    block: number,
    x: number,
    y: number,
    isStrict: boolean,
    from: number,
  ): number {
    const start = block << level
    const end = Math.min((block + 1) << level, this.corners.length)
    if (start >= end || this.corners[end - 1]!.index < from) return Infinity
    if (!this.someMatches(level, start, end, x, y, isStrict)) return Infinity
    if (level === 0) return this.corners[start]!.index
    const found = this.firstInBlock(level - 1, 2 * block, x, y, isStrict, from)
    return found < Infinity ? found : this.firstInBlock(level - 1, 2 * block + 1, x, y, isStrict, from)
  }

  private someMatches(
    level: number,
    start: number,
    end: number,
    x: number,
    y: number,
    isStrict: boolean,
  ): boolean {
    const { highs, minLows } = this.levels[level]!
    let low = start
    let high = end
    while (low < high) {
      const middle = (low + high) >>> 1
      const value = highs[middle]!
      if (isStrict ? value > x : value >= x) low = middle + 1
      else high = middle
    }
    if (low === start) return false
    const minLow = minLows[low - 1]!
    return isStrict ? minLow < y : minLow <= y
  }

  private mergeBlocks(order: Uint32Array, size: number): Uint32Array<ArrayBuffer> {
    const { corners } = this
    const merged = new Uint32Array(order.length)
    for (let start = 0; start < order.length; start += size) {
      const middle = Math.min(start + size / 2, order.length)
      const end = Math.min(start + size, order.length)
      let [left, right] = [start, middle]
      for (let at = start; at < end; at += 1) {
        const takesLeft =
          right >= end || (left < middle && corners[order[left]!]!.high >= corners[order[right]!]!.high)
        merged[at] = order[takesLeft ? left++ : right++]!
      }
    }
    return merged
  }

  private levelOf(order: Uint32Array, size: number): Level {
    const highs = new Float64Array(order.length)
    const minLows = new Float64Array(order.length)
    for (let at = 0; at < order.length; at += 1) {
      const { high, low } = this.corners[order[at]!]!
      highs[at] = high
      minLows[at] = at % size === 0 ? low : Math.min(low, minLows[at - 1]!)
    }
    return { highs, minLows }
  }
}

/** Regions with the same `startBefore`, searched by the end and the start of a segment. */
interface BoundedTree {
  readonly startBefore: number
  readonly tree: CornerTree
}

interface Trees {
  /** Regions that only limit how late a segment may start and how early it may end (load and broadcast rules). */
  readonly overlapping: CornerTree
  /** Regions that limit how early a segment may start and how late it may end (drop rules). */
  readonly containing: readonly BoundedTree[]
}

// Building the trees costs about as much as this many scans of all regions.
const scansPerBuild = 20

/**
 * Finds the first region in a list that contains a segment or covers another region. A search takes O(log² n)
 * comparisons for any rules. The first few searches scan the list, because most lists are short or rarely searched.
 */
export class RegionFinder {
  private readonly regions: readonly RuleRegion[]
  private compared = 0
  private built: Trees | undefined

  constructor(regions: readonly RuleRegion[]) {
    this.regions = regions
  }

  /** Returns the index of the first region that contains a segment from `start` to `end`, or -1. */
  firstHolding(start: number, end: number): number {
    const trees = this.trees()
    if (trees === undefined) {
      return this.scan(0, (region) => isInRegion(region, start, end))
    }
    let first = trees.overlapping.first(start, end, true, 0)
    for (const { startBefore, tree } of trees.containing)
      if (start < startBefore) first = Math.min(first, tree.first(end, start, false, 0))
    return first === Infinity ? -1 : first
  }

  /** Returns the index of the first region at index `from` or later that covers the inner region entirely, or -1. */
  firstCovering(inner: RuleRegion, from = 0): number {
    const trees = this.trees()
    if (trees === undefined) return this.scan(from, (region) => covers(region, inner))
    let first = trees.overlapping.first(inner.startBefore, inner.endAfter, false, from)
    for (const { startBefore, tree } of trees.containing) {
      if (inner.startBefore <= startBefore)
        first = Math.min(first, tree.first(inner.endUpTo, inner.startFrom, false, from))
    }
    return first === Infinity ? -1 : first
  }

  private scan(from: number, matches: (region: RuleRegion) => boolean): number {
    const { regions } = this
    let index = from
    while (index < regions.length && !matches(regions[index]!)) index += 1
    this.compared += index - from
    return index < regions.length ? index : -1
  }

  private trees(): Trees | undefined {
    const { regions } = this
    if (this.built === undefined && this.compared > scansPerBuild * regions.length) {
      const corners = Map.groupBy(
        regions.map((region, index) => ({ region, index })),
        ({ region }) => (isOverlapping(region) ? undefined : region.startBefore),
      )
      const overlapping = (corners.get(undefined) ?? []).map(({ region, index }) => ({
        index,
        high: region.startBefore,
        low: region.endAfter,
      }))
      corners.delete(undefined)
      const containing = [...corners].map(([startBefore, members]) => ({
        startBefore: startBefore as number,
        tree: new CornerTree(
          members.map(({ region, index }) => ({ index, high: region.endUpTo, low: region.startFrom })),
        ),
      }))
      this.built = { overlapping: new CornerTree(overlapping), containing }
    }
    return this.built
  }
}

/** Returns whether the region allows any early start and any late end. All other regions allow any early end. */
const isOverlapping = ({ startFrom, endUpTo }: RuleRegion): boolean =>
  startFrom === -Infinity && endUpTo === Infinity
