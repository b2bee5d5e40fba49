/** Ingestion: validates an index task and runs it, from its input to segment files in deep storage. */
export { type Engine, type EngineOptions, openEngine } from './engine.ts'
export { bucketStartSql } from './granularity-sql.ts'
export { type HttpInputLimits, httpInputLimitsOf } from './http-input.ts'
export type {
  DimensionSpec,
  IndexSpec,
  InputFormat,
  InputSource,
  MetricSpec,
} from './index-spec.ts'
export type { InputAccess } from './input-access.ts'
export { columnsOf, typeOfColumn } from './parquet-columns.ts'
export { indexTaskSchema, maxInlineDataBytes, parseIndexSpec } from './parse-index-spec.ts'
export { aggregateSql, type RowCounts } from './read-rows.ts'
export {
  type IndexProgress,
  type IndexResult,
  type IndexTaskOptions,
  runIndexTask,
} from './run-index-task.ts'
export { type SegmentMetadata, segmentFormatSql, segmentMetadataKey } from './segment-metadata.ts'
export { metricValueType } from './stored-columns.ts'
export type { StoredType } from './stored-value.ts'
export { openTaskFolder } from './task-folder.ts'
export type { WrittenSegment } from './write-segments.ts'
