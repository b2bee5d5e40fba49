/** Previews what a rule change would do: for each segment, in total, and over time. */

export * from './answer.ts'
export { bucketsOf, formatBuckets, maxBuckets } from './buckets.ts'
export { type Outcome, outcomeOf } from './decide-outcome.ts'
export * from './decide-request.ts'
export { type EditLosses, editLossesOf, type LostSegments } from './edit-losses.ts'
export { type EffectName, effectNames, type LossName } from './effect-names.ts'
export { type GivenDatasource, groupGivenSegments } from './given-segments.ts'
export * from './inventory-columns.ts'
export * from './parse-request.ts'
export { decidePreview, formatSummary, type PreviewResult, pageOfRows, rowsInPlaces } from './preview.ts'
export { type PreviewedCluster, type PreviewedDatasource, withColumns } from './previewed-cluster.ts'
export { type ReplicaLane, replicaLaneOf } from './replica-lane.ts'
export { keptByRules } from './restorable.ts'
export type { PreviewRow } from './rows.ts'
export { type ApplyingRule, type RuleLane, ruleLaneOf } from './rule-lane.ts'
export { columnsOf, type PreviewSegments, type SegmentColumns } from './segments.ts'
export { lackingSegments, type ServedFigures, servedFiguresOf } from './served-figures.ts'
export {
  type ChangedTier,
  previewServerChanges,
  type ServerChanges,
  type ServerChangesPreview,
} from './server-changes.ts'
export type { PreviewServer } from './servers-by-tier.ts'
export type { CopyTally } from './tallies.ts'
export { type TierMove, tierMovesOf } from './tier-moves.ts'
export { tiersText } from './tiers-text.ts'
export { maxWarnings, type PreviewWarning, warningsOfList } from './warnings.ts'
