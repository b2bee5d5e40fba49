/** Previews what a rule change would do: for each segment, in total, and over time. */
export * from './answer-request.ts'
export { type Axis, bucketsOf, formatBuckets, maxBuckets } from './buckets.ts'
export type { PreviewServer } from './cluster.ts'
export { type EffectName, effectNames } from './effects.ts'
export { groupGivenSegments } from './given-segments.ts'
export * from './inventory-columns.ts'
export type { Outcome } from './outcome.ts'
export * from './parse-request.ts'
export {
  decidePreview,
  formatSummary,
  type PreviewQuestion,
  type PreviewResult,
  pageOfRows,
  rowsInPlaces,
} from './preview.ts'
export type { PreviewedCluster, PreviewedDatasource } from './previewed-cluster.ts'
export { type ReplicaLane, type ReplicaState, replicaLaneOf, replicaStates } from './replica-lane.ts'
export { keptByRules } from './restorable.ts'
export type { PreviewRow } from './rows.ts'
export { columnsOf, type PreviewSegments, type SegmentColumns } from './segments.ts'
export { type ServedFigures, servedFiguresOf } from './served-figures.ts'
export { type TierMove, tierMovesOf } from './tier-moves.ts'
export { maxWarnings, type PreviewWarning, warningsOfList } from './warnings.ts'
