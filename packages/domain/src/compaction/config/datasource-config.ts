import { invalidInput } from '../../failure/index.ts'
import type { DimensionSchema, GranularitySpec, MetricSchema } from '../../specs/index.ts'
import { formatPeriod, type Period, parsePeriod, readPeriod } from '../../time/index.ts'
import {
  converted,
  isJsonObject,
  type JsonObject,
  optional,
  type Reader,
  readAnyObject,
  readDatasourceName,
  readFields,
  readInteger,
  readOneOf,
  refuse,
  titled,
  withoutNulls,
} from '../../validation/index.ts'
import { type ClusterCompactionConfig, type CompactionEngine, readEngine } from './cluster-config.ts'
import { readDimensionsSpec, readMetricsSpec } from './compacted-columns.ts'
import {
  type IoConfig,
  readGranularitySpec,
  readIoConfig,
  readProjections,
  readTransformSpec,
  readTuningConfig,
  type TransformSpec,
  type TuningConfig,
} from './specs.ts'

/** How to compact the segments of one datasource. A null field is not configured. */
export interface CompactionConfig {
  readonly dataSource: string
  readonly taskPriority: number
  /** Intervals whose segments have more bytes in total are skipped. */
  readonly inputSegmentSizeBytes: number
  readonly maxRowsPerSegment: number | null
  /** Period before the end of the latest data that is not compacted. */
  readonly skipOffsetFromLatest: Period
  readonly tuningConfig: TuningConfig | null
  readonly granularitySpec: GranularitySpec | null
  readonly dimensionsSpec: { readonly dimensions: readonly DimensionSchema[] | null } | null
  readonly metricsSpec: readonly MetricSchema[] | null
  readonly transformSpec: TransformSpec | null
  readonly projections: readonly JsonObject[] | null
  readonly ioConfig: IoConfig | null
  /** Null means the engine of the cluster configuration. */
  readonly engine: CompactionEngine | null
  readonly taskContext: JsonObject | null
}

const maxInt = 2_147_483_647
const defaultPriority = 25
const defaultInputSizeBytes = 100_000_000_000_000
const oneDay: Period = parsePeriod('P1D')
const maxPriority = 999_999

const readContext: Reader<JsonObject> = converted(readAnyObject, (context, field) => {
  if (Object.hasOwn(context, 'priority')) {
    optional(readInteger(-maxPriority, maxPriority))(context.priority, `${field}.priority`)
  }
  return context
})

const readConfig = readFields({
  // Druid 37 uses this type for a configuration that is complete by itself.
  type: optional(readOneOf(['inline'])),
  dataSource: readDatasourceName,
  taskPriority: optional(readInteger(-maxPriority, maxPriority), defaultPriority),
  inputSegmentSizeBytes: optional(readInteger(0, Number.MAX_SAFE_INTEGER), defaultInputSizeBytes),
  maxRowsPerSegment: optional(readInteger(1, maxInt)),
  skipOffsetFromLatest: optional(readPeriod, oneDay),
  tuningConfig: optional(readTuningConfig),
  granularitySpec: optional(readGranularitySpec),
  dimensionsSpec: optional(readDimensionsSpec),
  metricsSpec: optional(readMetricsSpec),
  transformSpec: optional(readTransformSpec),
  projections: optional(readProjections),
  ioConfig: optional(readIoConfig),
  engine: optional(readEngine),
  taskContext: optional(readContext),
})

/**
 * Reads the configuration of a datasource, with defaults filled in. Does not check whether an engine supports the
 * configuration: see assertRunnableBy.
 */
export const readCompactionConfig: Reader<CompactionConfig> = titled(
  'CompactionConfig',
  converted(readConfig, ({ type: _, ...config }) => {
    const dimensions = new Set(config.dimensionsSpec?.dimensions?.map(({ name }) => name.toLowerCase()))
    const both = config.metricsSpec?.find(({ name }) => dimensions.has(name.toLowerCase()))
    if (both) {
      throw invalidInput(
        `Column [${both.name}] is in both [dimensionsSpec] and [metricsSpec]: expected it in only one of them`,
        { field: 'metricsSpec' },
      )
    }
    return config
  }),
)

/**
 * Returns the configuration from a JSON object. Throws invalidInput for the first invalid value; the message contains
 * the field, the value, and what is expected.
 */
export const parseCompactionConfig = (json: unknown, field = ''): CompactionConfig =>
  readCompactionConfig(json, field)

/** Returns JSON that parseCompactionConfig accepts, with fields in the same order as in Druid 37. */
export function formatCompactionConfig(config: CompactionConfig): Record<string, unknown> {
  const { skipOffsetFromLatest, granularitySpec, projections, ...more } = config
  const { dataSource, taskPriority, inputSegmentSizeBytes, maxRowsPerSegment, tuningConfig, ...rest } = more
  const { dimensionsSpec, metricsSpec, transformSpec, ioConfig, engine, taskContext } = rest
  return {
    dataSource,
    taskPriority,
    inputSegmentSizeBytes,
    maxRowsPerSegment,
    skipOffsetFromLatest: formatPeriod(skipOffsetFromLatest),
    tuningConfig,
    granularitySpec: granularitySpec && withoutNulls(granularitySpec),
    dimensionsSpec,
    metricsSpec,
    transformSpec,
    ...(projections === null ? {} : { projections }),
    ioConfig,
    engine,
    taskContext,
  }
}

/**
 * Throws invalidInput if the engine does not support the configuration. The engine msq requires supervisors. It does
 * not support hashed partitions, maxTotalRows, rollup without metrics, metrics without rollup, or metrics that cannot
 * be aggregated again.
 */
export function assertRunnableBy(
  config: CompactionConfig,
  cluster: Pick<ClusterCompactionConfig, 'engine' | 'useSupervisors'>,
): void {
  if ((config.engine ?? cluster.engine) !== 'msq') return
  if (!cluster.useSupervisors) {
    throw refuse('engine', 'msq', '[native] unless [useSupervisors] is [true] in the cluster configuration')
  }
  const fail = (field: string, value: unknown, expected: string, condition = ''): never => {
    throw refuse(field, value, `${expected} for engine [msq]${condition}`)
  }
  const { tuningConfig, granularitySpec, dimensionsSpec, metricsSpec, taskContext } = config
  const partitions = tuningConfig?.partitionsSpec
  const partitionsField = 'tuningConfig.partitionsSpec'
  if (tuningConfig && !partitions) fail(partitionsField, undefined, 'one of [dynamic, range]')
  if (partitions?.type === 'hashed') {
    fail(`${partitionsField}.type`, partitions.type, 'one of [dynamic, range]')
  }
  if (partitions?.type === 'dynamic' && partitions.maxTotalRows !== null) {
    fail(`${partitionsField}.maxTotalRows`, partitions.maxTotalRows, 'null')
  }
  if (partitions?.type === 'range' && dimensionsSpec?.dimensions) {
    const types = new Map(dimensionsSpec.dimensions.map(({ name, type }) => [name, type]))
    const other = partitions.partitionDimensions.find((name) => types.get(name) !== 'string')
    if (other !== undefined) {
      fail(`${partitionsField}.partitionDimensions`, other, 'a dimension of type [string]')
    }
  }
  const hasMetrics = metricsSpec !== null && metricsSpec.length > 0
  if (granularitySpec && hasMetrics !== (granularitySpec.rollup === true)) {
    fail(
      'granularitySpec.rollup',
      granularitySpec.rollup,
      `[${hasMetrics}]`,
      hasMetrics ? ' if [metricsSpec] has metrics' : ' if [metricsSpec] has no metrics',
    )
  }
  const renamedMetric = metricsSpec?.find(({ name, fieldName }) => name !== fieldName)
  if (renamedMetric) fail('metricsSpec', renamedMetric, 'metrics whose [name] and [fieldName] are the same')
  const maxNumTasks = isJsonObject(taskContext) ? (taskContext.maxNumTasks ?? 2) : 2
  if (Number(maxNumTasks) < 2) {
    fail('taskContext.maxNumTasks', maxNumTasks, 'an integer of at least 2')
  }
}
