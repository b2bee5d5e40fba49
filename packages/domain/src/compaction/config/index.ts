/** Compaction configuration of datasources and of the cluster: conversion from and to JSON. */
export {
  assertNoNewZeroSlots,
  type ClusterCompactionConfig,
  type CompactionEngine,
  type CompactionPolicy,
  clusterConfigOf,
  defaultClusterConfig,
  defaultPolicies,
  formatClusterConfig,
  type MostFragmentedFirst,
  parseClusterConfig,
  readClusterConfig,
} from './cluster-config.ts'
export { readDimensionsSpec, readMetricsSpec } from './compacted-columns.ts'
export {
  assertRunnableBy,
  type CompactionConfig,
  formatCompactionConfig,
  parseCompactionConfig,
  readCompactionConfig,
} from './datasource-config.ts'
export type { RowFilter } from './filter.ts'
export { readProjections, readTransformSpec, readTuningConfig, type TuningConfig } from './specs.ts'
