import type { Rule, RuleBoundaries } from '../rules/index.ts'
import type { RuleTarget } from './rule-targets.ts'
import type { PreviewSegments, SegmentColumns } from './segments.ts'
import type { Stretch } from './stretches.ts'
import type { CopyTally } from './tallies.ts'

/** The rules of a datasource after the change. */
export interface PreviewRules {
  readonly own: readonly Rule[]
  readonly defaults: readonly Rule[]
}

/** What happens to the segments of one datasource. */
export interface DatasourceOutcome extends PreviewRules {
  readonly segments: PreviewSegments
  readonly columns: SegmentColumns
  /** All rules in evaluation order. */
  readonly boundaries: RuleBoundaries
  /** Returns what a rule, given by number, results in. */
  readonly targetOf: (rule: number) => RuleTarget
  readonly stretches: readonly Stretch[]
  /** Replicas at each position before the change, by holder. Undefined for holders without replicas. */
  readonly before: readonly (Uint16Array | undefined)[]
  /** Replicas of overshadowed segments before the change, by holder. All of them are dropped. */
  readonly overshadowedBefore: readonly CopyTally[]
  /** Replicas of each overshadowed segment on historicals before the change. */
  readonly overshadowedCopies: Uint16Array
  /** Replicas at each position after the change, by holder. Undefined for holders that get what the rules require. */
  readonly placed: (Uint16Array | undefined)[]
}
