import { formatInterval } from '../time/index.ts'
import type { AnsweredEffect } from './answer.ts'
import { Days } from './days.ts'
import type { SegmentColumns } from './segments.ts'

/** Segments with the same effect. */
export class Affected {
  segments = 0
  copies = 0
  /** Bytes of all copies. */
  bytes = 0
  private start = Infinity
  private end = -Infinity
  private readonly days = new Days()

  /** Adds a segment with a number of affected copies, or 1 for an effect on the segment itself. */
  add(start: number, end: number, copies: number, sizeBytes: number): void {
    this.count(start, end, 1, copies, sizeBytes)
    this.days.add(start, end)
  }

  /** Adds the segments from position `from` to `to`, exclusive, which are in one chain, with the same affected copies each. */
  addPositions(columns: SegmentColumns, from: number, to: number, copies: number): void {
    const { starts, ends, bytesBefore } = columns
    this.count(starts[from]!, ends[to - 1]!, to - from, copies, bytesBefore[to]! - bytesBefore[from]!)
    this.days.addPositions(columns, from, to)
  }

  addAll(other: Affected): void {
    this.segments += other.segments
    this.copies += other.copies
    this.bytes += other.bytes
    this.start = Math.min(this.start, other.start)
    this.end = Math.max(this.end, other.end)
    this.days.addAll(other.days)
  }

  format(withCopies: boolean): AnsweredEffect {
    const { segments, copies, bytes, start, end } = this
    const days = this.days.count()
    return {
      segments,
      ...(withCopies ? { copies } : {}),
      bytes,
      days: Number.isFinite(days) ? days : null,
      interval: segments === 0 ? null : formatInterval({ start, end }),
    }
  }

  private count(start: number, end: number, segments: number, copies: number, sizeBytes: number): void {
    this.segments += segments
    this.copies += segments * copies
    this.bytes += copies * sizeBytes
    if (start < this.start) this.start = start
    if (end > this.end) this.end = end
  }
}
