import type { CompactionConfig } from '@svc/domain/compaction'
import { invalidInput } from '@svc/domain/failure'
import type { MetricType } from '@svc/domain/segment'
import type { MetricSchema } from '@svc/domain/specs'
import type { StoredType } from '../../ingestion/index.ts'
import type { InputFile } from './source-files.ts'

/** A dimension to write. */
export interface WrittenDimension {
  readonly name: string
  readonly type: StoredType
}

/** The columns to write, and whether to roll up rows with equal time and dimensions. */
export interface WrittenColumns {
  readonly dimensions: readonly WrittenDimension[]
  readonly metrics: readonly MetricSchema[]
  readonly rollup: boolean
}

const numeric = new Set<StoredType>(['long', 'float', 'double'])

/** Returns the type that can represent the values of both. */
function widest(a: StoredType, b: StoredType): StoredType {
  if (a === b) return a
  return numeric.has(a) && numeric.has(b) ? 'double' : 'string'
}

/** When aggregated again, counts are summed; other metrics keep their type. */
const combiningType = (type: MetricType): MetricType => (type === 'count' ? 'longSum' : type)

const metricNames = ({ source }: InputFile): readonly string[] =>
  source.metrics === '' ? [] : source.metrics.split(',')

/**
 * Returns the columns to write: as configured, or otherwise as in the files. Throws an invalidInput Failure if the
 * files do not record how to aggregate a metric, or disagree about it, and the config does not specify it.
 */
export function writtenColumns(config: CompactionConfig, files: readonly InputFile[]): WrittenColumns {
  const { granularitySpec, dimensionsSpec, metricsSpec } = config
  const rollup =
    granularitySpec?.rollup ?? (files.length > 0 && files.every(({ metadata }) => metadata?.rollup === true))
  const metrics = metricsSpec?.length ? metricsSpec : presentMetrics(files, rollup)
  const dimensions = dimensionsSpec?.dimensions?.length
    ? dimensionsSpec.dimensions.map(({ name, type }) => ({ name, type }))
    : presentDimensions(files, metrics)
  return { dimensions, metrics, rollup }
}

function presentDimensions(
  files: readonly InputFile[],
  metrics: readonly MetricSchema[],
): WrittenDimension[] {
  const taken = new Set(metrics.map(({ name }) => name.toLowerCase()))
  const found = new Map<string, WrittenDimension>()
  for (const file of files) {
    const isMetric = new Set(metricNames(file))
    for (const [name, type] of file.columns) {
      const key = name.toLowerCase()
      if (isMetric.has(name) || taken.has(key)) continue
      const known = found.get(key)
      found.set(key, known ? { ...known, type: widest(known.type, type) } : { name, type })
    }
  }
  return [...found.values()]
}

function presentMetrics(files: readonly InputFile[], rollup: boolean): MetricSchema[] {
  const found = new Map<string, MetricSchema>()
  for (const file of files) {
    const said = new Map(file.metadata?.metrics.map((metric) => [metric.name, metric]))
    for (const name of metricNames(file)) {
      const type = said.get(name)?.type ?? (rollup ? undefined : plainType(file.columns.get(name)))
      const known = found.get(name.toLowerCase())
      const combining = type && combiningType(type)
      if (combining === undefined || (known && known.type !== combining)) {
        throw invalidInput(
          `Metric [${name}] of segment [${file.source.id}] ${combining ? 'is not aggregated in the same way as in other segments' : 'has no recorded aggregation'}: specify the aggregation in [metricsSpec]`,
          { field: 'metricsSpec' },
        )
      }
      found.set(name.toLowerCase(), { type: combining, name, fieldName: name })
    }
  }
  return [...found.values()]
}

// Without rollup, values are not aggregated: any aggregation of this type writes them unchanged.
const plainType = (type: StoredType | undefined): MetricType =>
  type === 'long' ? 'longSum' : type === 'float' ? 'floatSum' : 'doubleSum'
