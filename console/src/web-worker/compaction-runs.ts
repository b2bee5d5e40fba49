import { ascending } from '@svc/domain/order'
import { sortInSteps } from '@svc/domain/steps'
import { type Interval, parseInterval } from '@svc/domain/time'
import { type CompactionState, type CompactionStatus, compactionStates } from '../answers/index.ts'

/** A part of the time in which all intervals have the same compaction state. */
export interface CompactionRun extends Interval {
  readonly state: CompactionState
}

/** The compaction of a datasource over time. */
export interface CompactionOverTime {
  readonly intervalCount: number
  /** Undefined if there are too many intervals. */
  readonly runs: readonly CompactionRun[] | undefined
}

// Number of intervals between two pauses.
const slice = 2000

/** Joins the intervals of each state that follow each other or overlap. Yields regularly. */
export function* compactionRunsOf(
  intervals: NonNullable<CompactionStatus['intervals']>,
): Generator<undefined, CompactionRun[]> {
  const runs: CompactionRun[] = []
  for (const state of compactionStates) {
    const parsed: Interval[] = []
    for (const [at, { interval }] of intervals[state].entries()) {
      if (at % slice === 0) yield
      parsed.push(parseInterval(interval))
    }
    let last: { state: CompactionState; start: number; end: number } | undefined
    for (const { start, end } of yield* sortInSteps(parsed, (a, b) => ascending(a.start, b.start))) {
      if (last && start <= last.end) last.end = Math.max(last.end, end)
      else {
        last = { state, start, end }
        runs.push(last)
      }
    }
  }
  return runs
}
