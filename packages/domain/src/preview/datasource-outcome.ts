import type { Rule, RuleBoundaries } from '../rules/index.ts'
import type { HeldRuns } from './held-copies.ts'
import type { Pieces } from './pieces.ts'
import type { RuleTarget } from './rule-targets.ts'
import type { PreviewSegments, SegmentColumns } from './segments.ts'
import type { Stretch } from './stretches.ts'

/** The rules of a datasource after the change. */
export interface PreviewRules {
  readonly own: readonly Rule[]
  readonly defaults: readonly Rule[]
}

/** A datasource whose replicas are not placed yet. */
export interface UnplacedDatasource extends PreviewRules {
  readonly segments: PreviewSegments
  readonly columns: SegmentColumns
  /** All rules in evaluation order. */
  readonly boundaries: RuleBoundaries
  /** Returns what a rule, given by number, results in. */
  readonly targetOf: (rule: number) => RuleTarget
  readonly stretches: readonly Stretch[]
  /** Replicas before the change. */
  readonly held: HeldRuns
}

/** What happens to the segments of one datasource. */
export interface DatasourceOutcome extends UnplacedDatasource {
  readonly pieces: Pieces
}
