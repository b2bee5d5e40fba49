import { formatInterval, type Interval, readInterval } from '../../time/index.ts'
import {
  converted,
  described,
  optional,
  type Reader,
  readByType,
  readDatasourceName,
  readFields,
  readFlag,
  readInteger,
  readList,
  readNumber,
  readOneOf,
  readSizeBytes,
  refuse,
  titled,
  withoutNulls,
} from '../../validation/index.ts'

/** Compaction engines of Druid 37. In svc, they differ only in the settings that they allow and in their task slots. */
export const compactionEngines = ['native', 'msq'] as const
export type CompactionEngine = (typeof compactionEngines)[number]

/** Compacts the newest intervals first. */
export interface NewestSegmentFirst {
  readonly type: 'newestSegmentFirst'
  readonly priorityDatasource: string | null
}

/** Compacts intervals with many small uncompacted segments first. */
export interface MostFragmentedFirst {
  readonly type: 'mostFragmentedFirst'
  readonly priorityDatasource: string | null
  readonly minUncompactedCount: number
  readonly minUncompactedBytes: number
  readonly maxAverageUncompactedBytesPerSegment: number
  /** Below this percentage of uncompacted bytes (0 to 100), only uncompacted segments are rewritten. */
  readonly minUncompactedBytesPercentForFullCompaction: number
  /** The same for rows. */
  readonly minUncompactedRowsPercentForFullCompaction: number
}

/** Compacts only the listed intervals, in this order. */
export interface FixedIntervalOrder {
  readonly type: 'fixedIntervalOrder'
  readonly eligibleCandidates: readonly { readonly datasource: string; readonly interval: Interval }[]
}

/** Defines which intervals are compacted, and in which order. */
export type CompactionPolicy = NewestSegmentFirst | MostFragmentedFirst | FixedIntervalOrder

/** The compaction configuration that applies to all datasources. */
export interface ClusterCompactionConfig {
  readonly compactionTaskSlotRatio: number
  readonly maxCompactionTaskSlots: number
  readonly compactionPolicy: CompactionPolicy
  readonly useSupervisors: boolean
  readonly engine: CompactionEngine
  readonly storeCompactionStatePerSegment: boolean
}

const maxInt = 2_147_483_647

/** The configuration if nothing was configured. */
export const defaultClusterConfig: ClusterCompactionConfig = {
  compactionTaskSlotRatio: 0.1,
  maxCompactionTaskSlots: maxInt,
  compactionPolicy: { type: 'newestSegmentFirst', priorityDatasource: null },
  useSupervisors: false,
  engine: 'native',
  storeCompactionStatePerSegment: true,
}

/** Reads the name of an engine, ignoring case. */
export const readEngine: Reader<CompactionEngine> = described(
  { type: 'string', description: `${compactionEngines.join(' or ')} (case-insensitive)` },
  (json, field) => readOneOf(compactionEngines)(typeof json === 'string' ? json.toLowerCase() : json, field),
)

// An empty name means no datasource, as in Druid 37.
const readPriorityDatasource: Reader<string | null> = described(
  { type: ['string', 'null'] },
  (json, field) => (json === '' ? null : optional(readDatasourceName)(json, field)),
)
const percent = optional(readNumber(0, 100), 0)

const readPolicy = readByType<CompactionPolicy>({
  newestSegmentFirst: readFields({
    type: readOneOf(['newestSegmentFirst']),
    priorityDatasource: readPriorityDatasource,
  }),
  mostFragmentedFirst: readFields({
    type: readOneOf(['mostFragmentedFirst']),
    priorityDatasource: readPriorityDatasource,
    minUncompactedCount: optional(readInteger(1, maxInt), 100),
    minUncompactedBytes: optional(readSizeBytes, 10 * 2 ** 20),
    maxAverageUncompactedBytesPerSegment: optional(readSizeBytes, 2 * 2 ** 30),
    minUncompactedBytesPercentForFullCompaction: percent,
    minUncompactedRowsPercentForFullCompaction: percent,
  }),
  fixedIntervalOrder: readFields({
    type: readOneOf(['fixedIntervalOrder']),
    eligibleCandidates: readList(readFields({ datasource: readDatasourceName, interval: readInterval })),
  }),
})

/** The policies that apply without a list of intervals, with default settings. */
export const defaultPolicies: readonly CompactionPolicy[] = [
  defaultClusterConfig.compactionPolicy,
  readPolicy({ type: 'mostFragmentedFirst' }, ''),
]

const readConfig = readFields({
  compactionTaskSlotRatio: optional(readNumber(0, 1), defaultClusterConfig.compactionTaskSlotRatio),
  // Druid 37 accepts 0, so imported clusters may have it.
  maxCompactionTaskSlots: optional(readInteger(0, maxInt), defaultClusterConfig.maxCompactionTaskSlots),
  compactionPolicy: optional(readPolicy, defaultClusterConfig.compactionPolicy),
  useSupervisors: optional(readFlag, defaultClusterConfig.useSupervisors),
  engine: optional(readEngine, defaultClusterConfig.engine),
  storeCompactionStatePerSegment: optional(readFlag, defaultClusterConfig.storeCompactionStatePerSegment),
})

/** Reads a cluster configuration, with defaults filled in. */
export const readClusterConfig: Reader<ClusterCompactionConfig> = titled(
  'ClusterCompactionConfig',
  converted(readConfig, withRunnableEngine),
)

function withRunnableEngine(config: ClusterCompactionConfig): ClusterCompactionConfig {
  if (config.engine === 'msq' && !config.useSupervisors) {
    throw refuse('engine', 'msq', '[native] unless [useSupervisors] is [true]')
  }
  return config
}

/**
 * Returns the cluster configuration from a JSON object. Throws invalidInput for the first invalid value; the message
 * contains the field, the value, and what is expected.
 */
export const parseClusterConfig = (json: unknown, field = ''): ClusterCompactionConfig =>
  readClusterConfig(json, field)

const readNewSlots = readInteger(1, maxInt)

/**
 * Throws invalidInput if a change would set the maximum number of slots to 0, which stops compaction. A configuration that
 * already has 0, because it was imported from Druid 37, may keep it.
 */
export function assertNoNewZeroSlots(next: ClusterCompactionConfig, present: ClusterCompactionConfig): void {
  if (present.maxCompactionTaskSlots !== 0)
    readNewSlots(next.maxCompactionTaskSlots, 'maxCompactionTaskSlots')
}

/** Returns the configuration as JSON, with fields in the same order as in Druid 37. */
export function formatClusterConfig(config: ClusterCompactionConfig): Record<string, unknown> {
  const { compactionTaskSlotRatio, maxCompactionTaskSlots, compactionPolicy, ...more } = config
  return {
    compactionTaskSlotRatio,
    maxCompactionTaskSlots,
    compactionPolicy: formatPolicy(compactionPolicy),
    ...more,
  }
}

function formatPolicy(policy: CompactionPolicy): Record<string, unknown> {
  if (policy.type !== 'fixedIntervalOrder') return withoutNulls(policy)
  const eligibleCandidates = policy.eligibleCandidates.map(({ datasource, interval }) => ({
    datasource,
    interval: formatInterval(interval),
  }))
  return { type: policy.type, eligibleCandidates }
}

/** Returns the configuration that is stored as JSON, or the defaults if nothing is stored. */
export const clusterConfigOf = (stored: string | undefined): ClusterCompactionConfig =>
  stored === undefined ? defaultClusterConfig : parseClusterConfig(JSON.parse(stored))
