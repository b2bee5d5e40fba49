import type { Tally } from './segments.ts'

/** Number of segments with at least one replica, number of their replicas, and bytes of all replicas. */
export interface CopyTally extends Tally {
  readonly copies: number
}

/** How the replicas of a datasource in a tier change. */
export interface TierChange {
  readonly before: CopyTally
  readonly after: CopyTally
  readonly loaded: CopyTally
  readonly dropped: CopyTally
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }
export type MutableCopyTally = Mutable<CopyTally>
export type MutableTierChange = { readonly [Key in keyof TierChange]: MutableCopyTally }

/** Returns an empty tally. */
export const noCopies = (): MutableCopyTally => ({ segments: 0, copies: 0, bytes: 0 })

/** Returns an empty change. */
export const noChange = (): MutableTierChange => ({
  before: noCopies(),
  after: noCopies(),
  loaded: noCopies(),
  dropped: noCopies(),
})

/** Adds `copies` replicas of each of `segments` segments, which have `bytes` bytes in total. */
export function addCopies(tally: MutableCopyTally, segments: number, copies: number, bytes: number): void {
  if (copies === 0 || segments === 0) return
  tally.segments += segments
  tally.copies += copies * segments
  tally.bytes += copies * bytes
}

/** Adds segments whose number of replicas changes. */
export function addChange(
  change: MutableTierChange,
  segments: number,
  bytes: number,
  before: number,
  after: number,
): void {
  addCopies(change.before, segments, before, bytes)
  addCopies(change.after, segments, after, bytes)
  if (after > before) addCopies(change.loaded, segments, after - before, bytes)
  else addCopies(change.dropped, segments, before - after, bytes)
}

/** Adds one tally to another. */
export function addTally(sum: MutableCopyTally, { segments, copies, bytes }: CopyTally): void {
  sum.segments += segments
  sum.copies += copies
  sum.bytes += bytes
}
