/** Previews what a rule change would do: for each segment, in total, and over time. */
export { maxBuckets } from './buckets.ts'
export type { PreviewServer } from './cluster.ts'
export { type EffectName, effectNames } from './effects.ts'
export { groupGivenSegments } from './given-segments.ts'
export * from './parse-request.ts'
export {
  decidePreview,
  formatSummary,
  type PreviewQuestion,
  type PreviewResult,
  pageOfRows,
  rowsInPlaces,
} from './preview.ts'
export { keptByRules, Restorable, visibleAmong, withRestored } from './restorable.ts'
export type { PreviewRow } from './rows.ts'
export { columnsOf, type PreviewSegments, type SegmentColumns } from './segments.ts'
export { type PreviewWarning, warningsOfList } from './warnings.ts'
