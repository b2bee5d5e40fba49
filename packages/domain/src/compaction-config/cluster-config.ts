import { formatInterval, type Interval, intervalSchema, parseInterval } from '../time/index.ts'
import {
  described,
  type JsonObject,
  optional,
  type Reader,
  readByType,
  readDatasourceName,
  readFields,
  readFlag,
  readList,
  readNumber,
  readOneOf,
  readSizeBytes,
  readWhole,
  refuse,
  schemaOf,
  withoutNulls,
} from '../validation/index.ts'

/** What rewrites segments, as the recorded system has it; here they differ in what they allow and in their slots. */
export const compactionEngines = ['native', 'msq'] as const
export type CompactionEngine = (typeof compactionEngines)[number]

/** Newest intervals first. */
export interface NewestSegmentFirst {
  readonly type: 'newestSegmentFirst'
  readonly priorityDatasource: string | null
}

/** Intervals with many small uncompacted segments first. */
export interface MostFragmentedFirst {
  readonly type: 'mostFragmentedFirst'
  readonly priorityDatasource: string | null
  readonly minUncompactedCount: number
  readonly minUncompactedBytes: number
  readonly maxAverageUncompactedBytesPerSegment: number
  /** Below this share of uncompacted bytes, from 0 to 100, only what is uncompacted is rewritten. */
  readonly minUncompactedBytesPercentForFullCompaction: number
  /** The same of rows. */
  readonly minUncompactedRowsPercentForFullCompaction: number
}

/** Only these intervals, in this order. */
export interface FixedIntervalOrder {
  readonly type: 'fixedIntervalOrder'
  readonly eligibleCandidates: readonly { readonly datasource: string; readonly interval: Interval }[]
}

/** Which intervals are compacted, and in which order. */
export type CompactionPolicy = NewestSegmentFirst | MostFragmentedFirst | FixedIntervalOrder

/** What holds for the compaction of all datasources. */
export interface ClusterCompactionConfig {
  readonly compactionTaskSlotRatio: number
  readonly maxCompactionTaskSlots: number
  readonly compactionPolicy: CompactionPolicy
  readonly useSupervisors: boolean
  readonly engine: CompactionEngine
  readonly storeCompactionStatePerSegment: boolean
}

const mostInt = 2_147_483_647

/** What holds as long as nothing was configured. */
export const defaultClusterConfig: ClusterCompactionConfig = {
  compactionTaskSlotRatio: 0.1,
  maxCompactionTaskSlots: mostInt,
  compactionPolicy: { type: 'newestSegmentFirst', priorityDatasource: null },
  useSupervisors: false,
  engine: 'native',
  storeCompactionStatePerSegment: true,
}

/** The name of an engine in any case of letters. */
export const readEngine: Reader<CompactionEngine> = described(
  { type: 'string', description: `${compactionEngines.join(' or ')}, in any case of letters` },
  (json, field) => readOneOf(compactionEngines)(typeof json === 'string' ? json.toLowerCase() : json, field),
)

// An empty name is none, as the recorded system has it.
const readPriorityDatasource: Reader<string | null> = described(
  { type: ['string', 'null'] },
  (json, field) => (json === '' ? null : optional(readDatasourceName)(json, field)),
)
const readInterval: Reader<Interval> = described(intervalSchema, (json, field) =>
  parseInterval(
    (() => {
      if (typeof json === 'string') return json
      throw refuse(field, json, 'an ISO 8601 interval such as [2026-01-01/2026-02-01]')
    })(),
    field,
  ),
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
    minUncompactedCount: optional(readWhole(1, mostInt), 100),
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

const readConfig = readFields({
  compactionTaskSlotRatio: optional(readNumber(0, 1), defaultClusterConfig.compactionTaskSlotRatio),
  maxCompactionTaskSlots: optional(readWhole(1, mostInt), defaultClusterConfig.maxCompactionTaskSlots),
  compactionPolicy: optional(readPolicy, defaultClusterConfig.compactionPolicy),
  useSupervisors: optional(readFlag, defaultClusterConfig.useSupervisors),
  engine: optional(readEngine, defaultClusterConfig.engine),
  storeCompactionStatePerSegment: optional(readFlag, defaultClusterConfig.storeCompactionStatePerSegment),
})

/**
 * The cluster configuration of a JSON object; what is not given takes its default. The first thing that is wrong is an
 * invalidInput failure that names the field, the value and what is allowed.
 */
export function parseClusterConfig(json: unknown, field = ''): ClusterCompactionConfig {
  const config = readConfig(json, field)
  if (config.engine === 'msq' && !config.useSupervisors) {
    throw refuse('engine', 'msq', 'native unless useSupervisors is true')
  }
  return config
}

/** The JSON schema of a cluster configuration. */
export const clusterConfigSchema = (): JsonObject => ({
  title: 'ClusterCompactionConfig',
  ...schemaOf(readConfig),
})

/** The configuration as JSON, in the recorded order of fields. */
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

/** What was stored as JSON text, or the defaults where nothing was. */
export const clusterConfigOf = (stored: string | undefined): ClusterCompactionConfig =>
  stored === undefined ? defaultClusterConfig : parseClusterConfig(JSON.parse(stored))
