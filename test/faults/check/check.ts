import type { Entry } from '../history.ts'
import { type LongestTimes, leaderBack, longestTimes, oneLeader, recovery } from './leaders.ts'
import { rightsHold } from './rights.ts'
import { publishedOnce, wholeAnswers } from './rows.ts'
import { copiesAsAsked, segmentsStay } from './segments.ts'
import { readStory } from './story.ts'
import { acknowledgedWrites, completeAudit } from './writes.ts'

/** What every history has to show. */
export const invariants = {
  'every acknowledged write is there': acknowledgedWrites,
  'the audit is complete': completeAudit,
  'no segment is dropped, marked unused or erased without a rule or request': segmentsStay,
  'copies reach what the rules ask for': copiesAsAsked,
  'no task publishes twice or in part': publishedOnce,
  'there is one leader at a time, and it is the one with the lease': oneLeader,
  'rights never widen, and those who have them are let in': rightsHold,
  'answers of queries are whole': wholeAnswers,
  'a leader is back in time': leaderBack,
  'the cluster works again in time': recovery,
} as const
export type Invariant = keyof typeof invariants

/** One thing that should not have happened. */
export interface Violation {
  readonly invariant: Invariant
  readonly what: string
}

/** What a history has shown. */
export interface Verdict {
  /** All that should not be; empty for a good one. */
  readonly violations: readonly Violation[]
  readonly longest: LongestTimes
}

/** Looks at a history for all that should not be. */
export function checkHistory(entries: readonly Entry[]): Verdict {
  const story = readStory(entries)
  const violations = (Object.keys(invariants) as Invariant[]).flatMap((invariant) =>
    [...new Set(invariants[invariant](story))].map((what) => ({ invariant, what })),
  )
  return { violations, longest: longestTimes(story) }
}
