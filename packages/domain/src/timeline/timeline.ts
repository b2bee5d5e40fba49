import { ascending } from '../order/index.ts'
import type { Segment } from '../segment/index.ts'
import { finish, sortInSteps } from '../steps/index.ts'
import type { Interval } from '../time/index.ts'

/** The fields of a segment that the timeline needs. */
export type TimelineSegment = Pick<Segment, 'interval' | 'version' | 'partitionNum' | 'partitions'>

/** A maximal interval in which one group (one interval and version) is visible. */
export interface VisiblePiece {
  readonly interval: Interval
  readonly version: string
  /** Number of segments in the entire group, even if only part of its interval is visible. */
  readonly chunks: number
  /** Those segments, as indexes in the analyzed list. */
  readonly segments: readonly number[]
}

/** Result of `analyzeTimeline`. */
export interface Timeline {
  /** For each segment in the list, whether complete groups of higher versions cover it completely. */
  readonly overshadowed: boolean[]
  /** Sorted by start, without gaps. */
  readonly visible: VisiblePiece[]
}

/** The segments of one interval and version. They become visible together, once the core partition set is complete. */
export interface TimelineGroup {
  readonly interval: Interval
  readonly version: string
  readonly complete: boolean
}

interface Group extends TimelineGroup {
  readonly segments: number[]
  complete: boolean
}

// Number of segments or groups between two pauses.
const sliceLength = 5000

function* groupsOf(segments: readonly TimelineSegment[]): Generator<undefined, Group[]> {
  const groups = new Map<string, Group>()
  let index = 0
  let pauseAt = sliceLength
  while (index < segments.length) {
    // Segments of a group are mostly consecutive, so this avoids creating a key for each of them.
    const end = endOfRun(segments, index)
    const { interval, version } = segments[index]!
    const key = `${interval.start}/${interval.end}/${version}`
    const group = groups.get(key)
    if (group === undefined)
      groups.set(key, { interval, version, segments: indexesFrom(index, end), complete: false })
    else for (let at = index; at < end; at += 1) group.segments.push(at)
    index = end
    if (index < pauseAt) continue
    pauseAt = index + sliceLength
    yield
  }
  const list = [...groups.values()]
  for (const [at, group] of list.entries()) {
    if (at % sliceLength === 0) yield
    group.complete = isComplete(group.segments, segments)
  }
  return list
}

/** Returns the index after the last of the consecutive segments that are in the same group. */
function endOfRun(segments: readonly TimelineSegment[], from: number): number {
  const { interval, version } = segments[from]!
  let end = from + 1
  for (; end < segments.length; end += 1) {
    const next = segments[end]!
    const isSameTime =
      next.interval === interval ||
      (next.interval.start === interval.start && next.interval.end === interval.end)
    if (!isSameTime || next.version !== version) return end
  }
  return end
}

function indexesFrom(start: number, end: number): number[] {
  const indexes = new Array<number>(end - start)
  for (let at = start; at < end; at += 1) indexes[at - start] = at
  return indexes
}

/** Whether the core partition set of a group is complete. `group` contains the indexes of its segments. */
function isComplete(group: readonly number[], segments: readonly TimelineSegment[]): boolean {
  // Appended segments are also in the group, with partition numbers beyond the core set.
  let coreSize = 0
  let isInOrder = true
  for (let at = 0; at < group.length; at += 1) {
    const { partitionNum, partitions } = segments[group[at]!]!
    if (partitions > coreSize) coreSize = partitions
    if (partitionNum !== at) isInOrder = false
  }
  if (isInOrder || group.length < coreSize) return group.length >= coreSize
  const present = new Set<number>()
  for (const index of group) {
    const { partitionNum } = segments[index]!
    if (partitionNum < coreSize) present.add(partitionNum)
  }
  return present.size === coreSize
}

function highestVersionFirst(a: TimelineGroup, b: TimelineGroup): number {
  return (
    ascending(b.version, a.version) ||
    ascending(a.interval.start, b.interval.start) ||
    ascending(a.interval.end, b.interval.end)
  )
}

/**
 * Time divided into slots at every start and end of a group. The first group that takes a slot is visible there. A
 * taken slot points to a later one (union-find with path halving), so a sweep over all groups visits every slot about
 * once.
 */
class Slots {
  readonly ends: Float64Array
  readonly ownerOf: Int32Array
  private readonly nextFree: Int32Array

  constructor(ends: Float64Array) {
    this.ends = ends
    this.ownerOf = new Int32Array(ends.length).fill(-1)
    this.nextFree = Int32Array.from(ends.keys())
  }

  covers({ start, end }: Interval): boolean {
    return start < end && this.firstFree(this.slotAt(start)) >= this.slotAt(end)
  }

  take(interval: Interval, owner: number): void {
    const end = this.slotAt(interval.end)
    for (let slot = this.firstFree(this.slotAt(interval.start)); slot < end; slot = this.firstFree(slot)) {
      this.ownerOf[slot] = owner
      this.nextFree[slot] = slot + 1
    }
  }

  private slotAt(time: number): number {
    const { ends } = this
    let low = 0
    let high = ends.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (ends[middle]! < time) low = middle + 1
      else high = middle
    }
    return low
  }

  private firstFree(from: number): number {
    const { nextFree } = this
    let slot = from
    while (nextFree[slot] !== slot) {
      nextFree[slot] = nextFree[nextFree[slot]!]!
      slot = nextFree[slot]!
    }
    return slot
  }
}

/** Returns the starts and ends of groups, sorted and without duplicates. */
function* endsOf(groups: readonly TimelineGroup[]): Generator<undefined, Float64Array> {
  const times = new Float64Array(groups.length * 2)
  for (const [index, { interval }] of groups.entries()) {
    times[2 * index] = interval.start
    times[2 * index + 1] = interval.end
  }
  yield
  times.sort()
  yield
  let count = 0
  for (const time of times) if (count === 0 || times[count - 1] !== time) times[count++] = time
  return times.subarray(0, count)
}

/**
 * Finds the overshadowed groups and the visible group of each slot. Groups must be sorted by version, highest first.
 */
function* sweep(
  groups: readonly TimelineGroup[],
): Generator<undefined, { readonly slots: Slots; readonly overshadowed: Uint8Array }> {
  const slots = new Slots(yield* endsOf(groups))
  yield
  const overshadowed = new Uint8Array(groups.length)
  let first = 0
  while (first < groups.length) {
    // Groups of one version do not overshadow each other: check all of them before any takes its slots.
    let end = first
    while (end < groups.length && groups[end]!.version === groups[first]!.version) end += 1
    for (let index = first; index < end; index += 1) {
      if (index % sliceLength === 0) yield
      if (slots.covers(groups[index]!.interval)) overshadowed[index] = 1
    }
    for (let index = first; index < end; index += 1) {
      if (index % sliceLength === 0) yield
      const group = groups[index]!
      if (group.complete) slots.take(group.interval, index)
    }
    first = end
  }
  return { slots, overshadowed }
}

function* visiblePieces(
  groups: readonly Group[],
  { ends, ownerOf }: Slots,
): Generator<undefined, VisiblePiece[]> {
  const pieces: VisiblePiece[] = []
  let slot = 0
  while (slot < ownerOf.length) {
    const owner = ownerOf[slot]!
    let end = slot + 1
    while (end < ownerOf.length && ownerOf[end] === owner) end += 1
    const group = groups[owner]
    if (group !== undefined) {
      const { version, segments } = group
      pieces.push({
        interval: { start: ends[slot]!, end: ends[end]! },
        version,
        chunks: segments.length,
        segments,
      })
      if (pieces.length % sliceLength === 0) yield
    }
    slot = end
  }
  return pieces
}

/**
 * Returns the timeline of the segments of one datasource. Only complete groups are visible and overshadow others. An
 * incomplete group can still be overshadowed by complete groups of higher versions that together cover its entire
 * interval. Takes O(n log n).
 */
export const analyzeTimeline = (segments: readonly TimelineSegment[]): Timeline =>
  finish(analyzeTimelineInSteps(segments))

/** Like analyzeTimeline, but pauses regularly. */
export function* analyzeTimelineInSteps(
  segments: readonly TimelineSegment[],
): Generator<undefined, Timeline> {
  const groups = yield* sortInSteps(yield* groupsOf(segments), highestVersionFirst)
  const { slots, overshadowed: hidden } = yield* sweep(groups)
  yield
  const overshadowed = new Array<boolean>(segments.length).fill(false)
  groups.forEach(({ segments: members }, at) => {
    if (hidden[at] === 1) for (const index of members) overshadowed[index] = true
  })
  return { overshadowed, visible: yield* visiblePieces(groups, slots) }
}

/**
 * Returns the overshadowed groups among the groups of one datasource. Only groups that overlap can overshadow each
 * other, so after a change, only groups that overlap the change must be checked again.
 */
export function coveredGroups<G extends TimelineGroup>(groups: readonly G[]): G[] {
  const sorted = groups.toSorted(highestVersionFirst)
  const { overshadowed } = finish(sweep(sorted))
  return sorted.filter((_, index) => overshadowed[index] === 1)
}
