/** Parts of specs that ingestion and compaction share: granularities, dimensions, metrics, partitions, and tuning. */
export {
  type DimensionSchema,
  type MetricSchema,
  readDimensions,
  readInputColumn,
  readMetrics,
} from './columns.ts'
export {
  checkedGranularitySpec,
  type GranularitySpec,
  granularityFields,
  readGranularity,
  readGranularityName,
} from './granularity-spec.ts'
export { type PartitionsSpec, readDynamicPartitions, readPartitionsSpec } from './partitions-spec.ts'
export { tuningFields } from './tuning.ts'
