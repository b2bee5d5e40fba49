import type { Segment } from '../segment/index.ts'
import { type Interval, joinIntervals, sameInterval } from '../time/index.ts'
import { analyzeTimeline, separateParts, type VisiblePiece } from '../timeline/index.ts'
import { isWithinAny } from './time-condition.ts'

/** A segment that answers a query. Only rows in the intervals `within` count; undefined means all rows. */
export interface AnsweringSegment<Of extends Segment = Segment> {
  readonly segment: Of
  readonly within: readonly Interval[] | undefined
}

/** Interval and version of a segment that was served before. */
export type FormerSegment = Pick<Segment, 'interval' | 'version'>

/** The state of one datasource at one moment. */
export interface AnswerSnapshot<Of extends Segment = Segment> {
  /** The used segments. */
  readonly segments: readonly Of[]
  /** Whether the data of a segment is available. */
  isAvailable(segment: Segment): boolean
  /** Whether all servers that held a segment became unavailable without a request to drop it. */
  isLost(id: string): boolean
  /** Segments of this datasource that were served before and are no longer served or no longer used. */
  readonly formerly: readonly FormerSegment[]
  /** Whether rules require a segment on some server. */
  isWanted(segment: Segment): boolean
}

/** The segments that answer a query on one datasource. */
export interface AnswerPlan<Of extends Segment = Segment> {
  /** In order of time. */
  readonly answering: readonly AnsweringSegment<Of>[]
  /** Segments that every answer needs but that are currently unavailable. Queries must fail if there are any. */
  readonly missing: readonly Of[]
  /** Number of used, visible segments that do not answer because no server has loaded them (yet). */
  readonly notLoaded: number
}

/**
 * Decides which segments answer: those that are visible among the available segments. A version that is only partly
 * loaded does not overshadow older ones yet. Unavailable servers never make an answer incomplete: a segment that was
 * served before and is lost counts as present, but is reported as missing. Also missing are the segments that should
 * replace a formerly served one, as long as no version at least as new is visible in its place.
 */
export function planAnswer<Of extends Segment>(snapshot: AnswerSnapshot<Of>): AnswerPlan<Of> {
  const { segments, isAvailable, isLost, formerly, isWanted } = snapshot
  const wantedButLost = (segment: Segment): boolean => isLost(segment.id) && isWanted(segment)
  const present = segments.filter((segment) => isAvailable(segment) || wantedButLost(segment))
  const { visible } = analyzeTimeline(present)
  const answering = answeringSegments(present, visible)
  const missing = new Set(answering.flatMap(({ segment }) => (isAvailable(segment) ? [] : [segment])))
  const answeringIds = new Set(answering.map(({ segment }) => segment.id))
  let notLoaded = 0
  if (present.length < segments.length) {
    const all = analyzeTimeline(segments)
    const uncovered = joinIntervals(formerly.flatMap((former) => notVisibleSince(former, visible)))
    for (const { interval, segments: indexes } of all.visible) {
      const wasShown = isWithinAny(uncovered, interval)
      for (const index of indexes) {
        const segment = segments[index] as Of
        if (wasShown && !isAvailable(segment) && isWanted(segment)) missing.add(segment)
      }
    }
    const notHidden = new Set(all.visible.flatMap((piece) => piece.segments))
    for (const index of notHidden) if (!answeringIds.has((segments[index] as Segment).id)) notLoaded += 1
  }
  return { answering, missing: [...missing], notLoaded }
}

/**
 * Like planAnswer, but processes many segments in parts and yields after each one, so that it does not block other
 * work. Parts do not overlap in time and have at least `minSize` segments.
 */
export function* planAnswerInParts<Of extends Segment>(
  snapshot: AnswerSnapshot<Of>,
  minSize: number,
): Generator<void, AnswerPlan<Of>> {
  const answering: AnsweringSegment<Of>[] = []
  const missing: Of[] = []
  let notLoaded = 0
  for (const segments of separateParts(snapshot.segments, minSize)) {
    const plan = planAnswer({ ...snapshot, segments })
    for (const one of plan.answering) answering.push(one)
    for (const one of plan.missing) missing.push(one)
    notLoaded += plan.notLoaded
    yield
  }
  return { answering, missing, notLoaded }
}

/**
 * Returns the plan without the segments that have no rows in `times`, which must be sorted and disjoint. A query for
 * only these times does not need those segments to be available. `notLoaded` stays unchanged.
 */
export function pruneAnswer(plan: AnswerPlan, times: readonly Interval[]): AnswerPlan {
  const isWithin = (interval: Interval): boolean => isWithinAny(times, interval)
  return {
    answering: plan.answering.filter(({ segment, within }) => (within ?? [segment.interval]).some(isWithin)),
    missing: plan.missing.filter(({ interval }) => isWithin(interval)),
    notLoaded: plan.notLoaded,
  }
}

function answeringSegments<Of extends Segment>(
  segments: readonly Of[],
  pieces: readonly VisiblePiece[],
): AnsweringSegment<Of>[] {
  const shown = new Map<number, Interval[]>()
  for (const { interval, segments: indexes } of pieces) {
    for (const index of indexes) {
      const intervals = shown.get(index)
      if (intervals === undefined) shown.set(index, [interval])
      else intervals.push(interval)
    }
  }
  return [...shown].map(([index, intervals]) => {
    const segment = segments[index] as Of
    const [first] = intervals
    const isComplete = first !== undefined && sameInterval(first, segment.interval)
    return { segment, within: isComplete ? undefined : intervals }
  })
}

/** Returns the parts of a former segment's interval in which the sorted pieces show only older versions or nothing. */
function notVisibleSince({ interval, version }: FormerSegment, pieces: readonly VisiblePiece[]): Interval[] {
  const left: Interval[] = []
  let { start } = interval
  for (let index = firstEndingAfter(pieces, start); index < pieces.length; index += 1) {
    const { interval: piece, version: shown } = pieces[index] as VisiblePiece
    if (piece.start >= interval.end) break
    if (shown < version) continue
    if (piece.start > start) left.push({ start, end: piece.start })
    start = Math.max(start, piece.end)
  }
  if (start < interval.end) left.push({ start, end: interval.end })
  return left
}

function firstEndingAfter(pieces: readonly VisiblePiece[], instant: number): number {
  let low = 0
  let high = pieces.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((pieces[middle] as VisiblePiece).interval.end > instant) high = middle
    else low = middle + 1
  }
  return low
}
