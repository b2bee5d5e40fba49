import { invalidInput } from '../../failure/index.ts'
import { type DimensionType, dimensionTypes, type MetricType, metricTypes } from '../../segment/index.ts'
import {
  described,
  optional,
  type Reader,
  readByType,
  readFields,
  readFlag,
  readList,
  readName,
  readOneOf,
  readText,
  refuse,
  schemaOf,
} from '../../validation/index.ts'

/** A dimension column. */
export interface DimensionSchema {
  readonly type: DimensionType
  readonly name: string
  readonly multiValueHandling: 'SORTED_ARRAY' | 'SORTED_SET' | 'ARRAY'
  readonly createBitmapIndex: boolean
}

/** A metric column, which is aggregated. A count has no fieldName. */
export interface MetricSchema {
  readonly type: MetricType
  readonly name: string
  readonly fieldName?: string
}

const anyName = readName()
const columnName: Reader<string> = described(anyName, (json, field) => {
  const name = anyName(json, field)
  if (name.toLowerCase() === '__time')
    throw refuse(field, json, 'a name other than [__time], which is the timestamp column')
  return name
})

const multiValueHandlings = ['SORTED_ARRAY', 'SORTED_SET', 'ARRAY'] as const
const dimensionOf = (type: DimensionType): Reader<DimensionSchema> =>
  readFields({
    type: optional(readOneOf([type]), type),
    name: columnName,
    multiValueHandling: optional<DimensionSchema['multiValueHandling'], 'SORTED_ARRAY'>(
      described({ type: 'string', description: multiValueHandlings.join(', ') }, (json, field) =>
        readOneOf(multiValueHandlings)(typeof json === 'string' ? json.toUpperCase() : json, field),
      ),
      'SORTED_ARRAY',
    ),
    // In Druid 37, only string columns have a bitmap index.
    createBitmapIndex: optional(readFlag, type === 'string'),
  })
const typedDimension = readByType(Object.fromEntries(dimensionTypes.map((type) => [type, dimensionOf(type)])))
const untypedDimension = dimensionOf('string')
const readDimension: Reader<DimensionSchema> = described(
  { anyOf: [{ type: 'string' }, schemaOf(untypedDimension), schemaOf(typedDimension)] },
  (json, field) => {
    const given = typeof json === 'string' ? { name: json } : json
    const untyped = typeof given === 'object' && given !== null && (given as { type?: unknown }).type == null
    return untyped ? untypedDimension(given, field) : typedDimension(given, field)
  },
)

function assertDistinct(columns: readonly { readonly name: string }[], field: string): void {
  const taken = new Set<string>()
  for (const { name } of columns) {
    // Readers and writers treat names that differ only in case as one column.
    if (taken.has(name.toLowerCase())) {
      throw invalidInput(`Duplicate column [${name}] in [${field}]: expected each column only once`, {
        field,
      })
    }
    taken.add(name.toLowerCase())
  }
}

const dimensionsFields = readFields({ dimensions: optional(readList(readDimension)) })

/** Reads a dimensionsSpec. Without dimensions, columns stay unchanged. */
export const readDimensionsSpec: Reader<{ readonly dimensions: readonly DimensionSchema[] | null }> =
  described(dimensionsFields, (json, field) => {
    const spec = dimensionsFields(json, field)
    assertDistinct(spec.dimensions ?? [], `${field}.dimensions`)
    return spec
  })

function metricOf(type: MetricType): Reader<MetricSchema> {
  if (type === 'count') return readFields({ type: readOneOf([type]), name: columnName })
  const fields = readFields({
    type: readOneOf([type]),
    name: columnName,
    fieldName: columnName,
    expression: optional(readText),
  })
  return described(fields, (json, field) => {
    const { expression, ...metric } = fields(json, field)
    if (expression !== null)
      throw refuse(`${field}.expression`, expression, 'null, because [fieldName] defines the column')
    return metric
  })
}
const readMetric = readByType<MetricSchema>(
  Object.fromEntries(metricTypes.map((type) => [type, metricOf(type)])),
)

const readMetrics = readList(readMetric)

/** Reads a metricsSpec. */
export const readMetricsSpec: Reader<readonly MetricSchema[]> = described(readMetrics, (json, field) => {
  const metrics = readMetrics(json, field)
  assertDistinct(metrics, field)
  return metrics
})
