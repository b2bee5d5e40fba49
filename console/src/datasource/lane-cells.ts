import type { AnsweredBuckets, ReplicaLane } from '@svc/domain/preview'
import { type Interval, parseInstant, parseInterval } from '@svc/domain/time'
import type { CompactionState } from '../answers/index.ts'
import type { LaneCell } from './lane-cell.ts'

/** One state for each bucket of the time axis, with a name. */
export interface Lane {
  readonly label: string
  readonly cells: readonly LaneCell[]
  /** What each state means. */
  readonly words: Partial<Readonly<Record<LaneCell['kind'], string>>>
}

const servedWords = {
  full: 'all replicas served',
  partial: 'some replicas not served',
  missing: 'segments not served',
  none: 'nothing to serve',
}
const compactionWords = {
  full: 'compacted',
  partial: 'partly compacted',
  waiting: 'awaits compaction',
  skipped: 'skipped by compaction',
}

/** Returns the lane of served replicas, and the one of overshadowed data if there is any. */
export function replicaCells(buckets: AnsweredBuckets, lane: ReplicaLane | undefined): Lane[] {
  if (!lane) return []
  const served = cellsOf(buckets.count, (at) =>
    lane.unserved[at]! > 0
      ? 'missing'
      : lane.underReplicated[at]! > 0
        ? 'partial'
        : lane.served[at]! > 0
          ? 'full'
          : 'none',
  )
  const hidden = cellsOf(buckets.count, (at) => (lane.overshadowed[at]! > 0 ? 'hidden' : 'none'))
  return [
    { label: 'replicas served', cells: served, words: servedWords },
    ...(hidden.some(({ kind }) => kind === 'hidden')
      ? [{ label: 'overshadowed', cells: hidden, words: { hidden: 'overshadowed segments' } }]
      : []),
  ]
}

interface WithInterval {
  readonly interval: string
}

/** Returns the lane of unused data; none if there is none on the axis. */
export function unusedCells(buckets: AnsweredBuckets, unused: readonly WithInterval[] | undefined): Lane[] {
  const hasUnused = new Uint8Array(buckets.count)
  for (const { interval } of unused ?? []) {
    const { from, to } = bucketsOf(buckets, parseInterval(interval))
    hasUnused.fill(1, from, Math.max(from, to))
  }
  if (!hasUnused.includes(1)) return []
  const cells = cellsOf(buckets.count, (at) => (hasUnused[at] === 1 ? 'hidden' : 'none'))
  return [{ label: 'unused', cells, words: { hidden: 'unused segments' } }]
}

/** Returns the time from the first to the last unused data if some of it is outside a range; data without time bounds is ignored. */
export function unusedBeyond(
  range: Interval,
  unused: readonly WithInterval[] | undefined,
): Interval | undefined {
  const intervals = (unused ?? [])
    .map(({ interval }) => parseInterval(interval))
    .filter(({ start, end }) => Number.isFinite(start) && Number.isFinite(end))
  if (intervals.every(({ start, end }) => start >= range.start && end <= range.end)) return undefined
  return {
    start: intervals.reduce((first, { start }) => Math.min(first, start), Infinity),
    end: intervals.reduce((last, { end }) => Math.max(last, end), -Infinity),
  }
}

/** Returns the buckets that an interval overlaps: the first, and the one after the last. */
function bucketsOf(
  { start, widthMs, count }: AnsweredBuckets,
  { start: first, end }: Interval,
): { readonly from: number; readonly to: number } {
  const axisStart = parseInstant(start)
  return {
    from: Math.max(0, Math.floor((first - axisStart) / widthMs)),
    to: Math.min(count, Math.ceil((end - axisStart) / widthMs)),
  }
}

/** Returns the lane of compaction; none if the datasource is not compacted. */
export function compactionCells(
  buckets: AnsweredBuckets,
  runs: readonly (Interval & { readonly state: CompactionState })[] | undefined,
): Lane[] {
  if (!runs) return []
  const states = new Uint8Array(buckets.count)
  const bits = { compacted: 1, skipped: 2, awaiting: 4 }
  for (const run of runs) {
    const { from, to } = bucketsOf(buckets, run)
    for (let at = from; at < to; at += 1) states[at]! |= bits[run.state]
  }
  const kindOf = (state: number): LaneCell['kind'] => {
    if (state & bits.awaiting) return state & bits.compacted ? 'partial' : 'waiting'
    return state & bits.compacted ? 'full' : state & bits.skipped ? 'skipped' : 'none'
  }
  const cells = cellsOf(buckets.count, (at) => kindOf(states[at]!))
  return [{ label: 'compaction', cells, words: compactionWords }]
}

/** Returns one cell per bucket, so that cells line up with the bars above them. */
const cellsOf = (count: number, kindOf: (bucket: number) => LaneCell['kind']): LaneCell[] =>
  Array.from({ length: count }, (_, at) => ({ from: at, to: at + 1, kind: kindOf(at) }))
