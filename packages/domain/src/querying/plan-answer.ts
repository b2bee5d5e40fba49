import type { Segment } from '../segment/index.ts'
import { type Interval, sameInterval } from '../time/index.ts'
import { analyzeTimeline, separateParts, type VisiblePiece } from '../timeline/index.ts'
import { isWithinAny, joinTimes } from './time-condition.ts'

/** A segment that answers, with the stretches of time of which its rows count; undefined for all of its rows. */
export interface AnsweringSegment<Of extends Segment = Segment> {
  readonly segment: Of
  readonly within: readonly Interval[] | undefined
}

/** What a segment that is gone has shown. */
export type FormerSegment = Pick<Segment, 'interval' | 'version'>

/** What is known of one datasource at one moment. */
export interface AnswerSnapshot<Of extends Segment = Segment> {
  /** The used segments. */
  readonly segments: readonly Of[]
  /** Whether the bytes of a segment can be had. */
  isAvailable(segment: Segment): boolean
  /** Whether the servers that held a segment went away without having been told to drop it. */
  isLost(id: string): boolean
  /** Segments of this datasource that were served some time ago and are not served any more or not used. */
  readonly formerly: readonly FormerSegment[]
  /** Whether rules want a segment on some server. */
  isWanted(segment: Segment): boolean
}

/** What answers a query over one datasource. */
export interface AnswerPlan<Of extends Segment = Segment> {
  /** In the order of their time. */
  readonly answering: readonly AnsweringSegment<Of>[]
  /** Segments whose rows belong into every answer and cannot be had at the moment: there is no answer without them. */
  readonly missing: readonly Of[]
  /** Used segments that nothing hides and that do not answer, because no server has loaded them (yet). */
  readonly notLoaded: number
}

/**
 * Decides which segments answer. What is visible among the available segments does; a version of which a part has
 * not been loaded yet leaves the older one in force. An answer is never smaller than an earlier one because servers
 * are away: a segment that was served before and is lost counts as if it were there, and is missing; so are the
 * segments that are to show the time of what was served before, where nothing as new shows it.
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
    const uncovered = joinTimes(formerly.flatMap((former) => notShownSince(former, visible)))
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
 * The same as planAnswer for many segments, part by part: it can be left for a moment after each, so that other work is
 * not held up. Parts share no time and have at least `minSize` segments.
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
 * A plan without the segments that have no row in any of the times, which are sorted and apart: for a query that asks
 * for rows of these times only, they need be neither here nor anywhere. How much is not loaded is told as before.
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
    const isWhole = first !== undefined && sameInterval(first, segment.interval)
    return { segment, within: isWhole ? undefined : intervals }
  })
}

/** The time of a former segment in which the pieces, which are sorted, show neither its version nor a newer one. */
function notShownSince({ interval, version }: FormerSegment, pieces: readonly VisiblePiece[]): Interval[] {
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
