import { ascending } from '../order/index.ts'
import { dayMs } from '../time/index.ts'
import type { SegmentColumns } from './segments.ts'
import { upperBound } from './sorted.ts'

interface DayRange {
  readonly from: number
  /** Exclusive. */
  to: number
}

// Minimum number of ranges that are sorted and merged. Data of one granularity rarely needs it.
const minMergedRanges = 20_000

/** The UTC days that segments have data for. Adding segments in the order of time takes the least memory. */
export class Days {
  private ranges: DayRange[] = []
  private maxRanges = minMergedRanges

  /** Adds the days of a segment, from `start` to `end` in epoch milliseconds. */
  add(start: number, end: number): void {
    this.addRange(Math.floor(start / dayMs), Math.ceil(end / dayMs))
  }

  /** Adds the days of the segments from position `from` to `to`, exclusive, which are in one chain. */
  addPositions({ starts, ends, dayGaps }: SegmentColumns, from: number, to: number): void {
    let at = from
    for (let gap = upperBound(dayGaps, from, 0, dayGaps.length); at < to; gap += 1) {
      const next = Math.min(to, dayGaps[gap] ?? to)
      this.add(starts[at]!, ends[next - 1]!)
      at = next
    }
  }

  /** Adds the days of other segments. */
  addAll(other: Days): void {
    for (const { from, to } of other.ranges) this.addRange(from, to)
  }

  /** Returns the number of different days; Infinity if a segment has no start or no end. */
  count(): number {
    this.merge()
    return this.ranges.reduce((sum, { from, to }) => sum + to - from, 0)
  }

  private addRange(from: number, to: number): void {
    append(this.ranges, from, to)
    if (this.ranges.length >= this.maxRanges) this.merge()
  }

  private merge(): void {
    const merged: DayRange[] = []
    for (const { from, to } of this.ranges.sort(byStart)) append(merged, from, to)
    this.ranges = merged
    this.maxRanges = Math.max(minMergedRanges, 2 * merged.length)
  }
}

const byStart = (a: DayRange, b: DayRange): number => ascending(a.from, b.from)

/** Adds a range, as part of the last one if it starts in it or at its end. */
function append(ranges: DayRange[], from: number, to: number): void {
  const last = ranges.at(-1)
  if (last !== undefined && last.from <= from && from <= last.to) last.to = Math.max(last.to, to)
  else ranges.push({ from, to })
}
