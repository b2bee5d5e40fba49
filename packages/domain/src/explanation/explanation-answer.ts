import type { RuleJson } from '../rules/index.ts'
import type { PlacedRule } from './explain-rules.ts'
import type { SegmentExplanation } from './explain-segment.ts'
import type { Cause, LoadFailure, NextEvent, ServerFinding, TierFinding } from './segment-explanation.ts'

/** A rule as responses show it. */
export interface AnsweredRule extends Omit<PlacedRule, 'rule'> {
  readonly rule: RuleJson
}

/** What a server has to do with a segment, as responses show it: times are in ISO 8601. */
export interface AnsweredServer extends Omit<ServerFinding, 'failure'> {
  readonly failure?: Pick<LoadFailure, 'failures' | 'error'> & Readonly<Record<'at' | 'retryAt', string>>
}

/** The replicas of a segment in one tier, as responses show them. Candidates require READ on STATE. */
export type AnsweredTier = Omit<TierFinding, 'candidates'> & Partial<Pick<TierFinding, 'candidates'>>

/** Something that will happen to a segment, as responses show it. */
export interface AnsweredEvent extends Omit<NextEvent, 'at' | 'doneAt'> {
  /** In ISO 8601, as is `doneAt`. */
  readonly at?: string
  readonly doneAt?: string
}

/** Why a segment is where it is, as the coordinator responds. Unused segments have only the first fields. */
export interface ExplanationAnswer
  extends Pick<SegmentExplanation, 'segment' | 'dataSource' | 'sizeBytes' | 'summary'> {
  readonly interval: string
  readonly state: SegmentExplanation['state'] | 'unused'
  /** Unused segments have codes of their own. */
  readonly causes: readonly (Omit<Cause, 'code'> & { readonly code: string })[]
  /** The first rule that applies. */
  readonly rule?: AnsweredRule
  /** Earlier rules, each with the reason why it does not apply. */
  readonly earlierRules?: readonly (AnsweredRule & { readonly text: string })[]
  readonly omittedRules?: number
  readonly tiers?: readonly AnsweredTier[]
  readonly omittedTiers?: number
  readonly servers?: readonly AnsweredServer[]
  readonly omittedServers?: number
  readonly next?: readonly AnsweredEvent[]
}
