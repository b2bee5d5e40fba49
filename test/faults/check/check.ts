import type { Entry } from '../history.ts'
import { type LongestTimes, leaderBack, longestTimes, oneLeader, recovery } from './leaders.ts'
import { rightsHold } from './rights.ts'
import { completeAnswers, publishedOnce } from './rows.ts'
import { copiesAsRequired, segmentsStay } from './segments.ts'
import { readStory } from './story.ts'
import { acknowledgedWrites, completeAudit } from './writes.ts'

/** The invariants of every history. */
export const invariants = {
  'no acknowledged write is lost': acknowledgedWrites,
  'the audit log is complete': completeAudit,
  'no segment is dropped, marked as unused, or erased without a rule or request': segmentsStay,
  'every segment reaches the replicas that its rules require': copiesAsRequired,
  'no task publishes twice or in part': publishedOnce,
  'there is one leader at a time, and it is the one with the lease': oneLeader,
  'permissions never widen, and users who have them have access': rightsHold,
  'query results are complete': completeAnswers,
  'a new leader takes over in time': leaderBack,
  'the cluster recovers in time': recovery,
} as const
export type Invariant = keyof typeof invariants

/** One violation of an invariant. */
export interface Violation {
  readonly invariant: Invariant
  readonly what: string
}

/** The result of checking a history. */
export interface Verdict {
  /** All violations; empty if the history is good. */
  readonly violations: readonly Violation[]
  readonly longest: LongestTimes
}

/** Checks a history against all invariants. */
export function checkHistory(entries: readonly Entry[]): Verdict {
  const story = readStory(entries)
  const violations = (Object.keys(invariants) as Invariant[]).flatMap((invariant) =>
    [...new Set(invariants[invariant](story))].map((what) => ({ invariant, what })),
  )
  return { violations, longest: longestTimes(story) }
}
