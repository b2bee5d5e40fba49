import type { CompactionConfig, MetricSchema } from '@svc/domain/compaction-config'
import { invalidInput } from '@svc/domain/failure'
import type { MetricType } from '@svc/domain/segment'
import type { StoredType } from '../ingestion/index.ts'
import type { InputFile } from './input-files.ts'

/** A dimension that is written. */
export interface WrittenDimension {
  readonly name: string
  readonly type: StoredType
}

/** The columns that are written, and whether rows that are equal in time and dimensions become one. */
export interface WrittenColumns {
  readonly dimensions: readonly WrittenDimension[]
  readonly metrics: readonly MetricSchema[]
  readonly rollup: boolean
}

const numeric = new Set<StoredType>(['long', 'float', 'double'])

/** The type that holds the values of both. */
function widest(a: StoredType, b: StoredType): StoredType {
  if (a === b) return a
  return numeric.has(a) && numeric.has(b) ? 'double' : 'string'
}

/** Aggregated again, counts are added up; everything else as it was. */
const combiningType = (type: MetricType): MetricType => (type === 'count' ? 'longSum' : type)

const metricNames = ({ source }: InputFile): readonly string[] =>
  source.metrics === '' ? [] : source.metrics.split(',')

/**
 * What is written of files: as configured, and what is not configured as the files have it. Where equal rows become one
 * and the files do not say how a metric of theirs is aggregated, or say so differently, only the configuration can
 * tell: an invalidInput failure.
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
          `Metric [${name}] of segment [${file.source.id}] is aggregated in ${combining ? 'another way than in other segments' : 'a way that its file does not say'}; name it in metricsSpec`,
          { field: 'metricsSpec' },
        )
      }
      found.set(name.toLowerCase(), { type: combining, name, fieldName: name })
    }
  }
  return [...found.values()]
}

// Without rollup no value is aggregated: any way of this type writes it as it is.
const plainType = (type: StoredType | undefined): MetricType =>
  type === 'long' ? 'longSum' : type === 'float' ? 'floatSum' : 'doubleSum'
