/** What is configured for compaction: of one datasource, of the cluster; read from JSON and written back. */
export {
  type ClusterCompactionConfig,
  type CompactionEngine,
  type CompactionPolicy,
  clusterConfigOf,
  clusterConfigSchema,
  compactionEngines,
  defaultClusterConfig,
  type FixedIntervalOrder,
  formatClusterConfig,
  type MostFragmentedFirst,
  type NewestSegmentFirst,
  parseClusterConfig,
} from './cluster-config.ts'
export {
  assertRunnableBy,
  type CompactionConfig,
  compactionConfigSchema,
  formatCompactionConfig,
  parseCompactionConfig,
} from './datasource-config.ts'
export type { RowFilter } from './filter.ts'
export { type GranularitySpec, readGranularity } from './granularity-spec.ts'
export type {
  DynamicPartitionsSpec,
  HashedPartitionsSpec,
  PartitionsSpec,
  RangePartitionsSpec,
} from './partitions-spec.ts'
export type {
  DimensionSchema,
  MetricSchema,
} from './schema.ts'
export {
  type IoConfig,
  readDimensionsSpec,
  readGranularitySpec,
  readIoConfig,
  readMetricsSpec,
  readProjections,
  readTransformSpec,
  readTuningConfig,
  type TransformSpec,
  type TuningConfig,
} from './specs.ts'
