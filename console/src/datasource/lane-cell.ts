/** A part of a lane with one state for each bucket. */
export interface LaneCell {
  /** First bucket, and the one after the last. */
  readonly from: number
  readonly to: number
  readonly kind: 'full' | 'partial' | 'missing' | 'none' | 'hidden' | 'waiting' | 'skipped'
}
