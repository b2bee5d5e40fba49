import { invalidInput } from '../failure/index.ts'
import { type DimensionType, dimensionTypes, type MetricType, metricTypes } from '../segment/index.ts'
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
} from '../validation/index.ts'

/** A column that rows are told apart by. */
export interface DimensionSchema {
  readonly type: DimensionType
  readonly name: string
  readonly multiValueHandling: 'SORTED_ARRAY' | 'SORTED_SET' | 'ARRAY'
  readonly createBitmapIndex: boolean
}

/** A column that is aggregated. A count has no fieldName. */
export interface MetricSchema {
  readonly type: MetricType
  readonly name: string
  readonly fieldName?: string
}

const columnName: Reader<string> = described(readName(), (json, field) => {
  const name = readName()(json, field)
  if (name.toLowerCase() === '__time')
    throw refuse(field, json, 'another name: __time is the time of the row')
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
    // Only texts have an index of their values in the recorded system.
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
    // Names that differ only in the case of letters are one column to what reads and writes them.
    if (taken.has(name.toLowerCase())) {
      throw invalidInput(`${field} names the column [${name}] twice; expected each column once`, { field })
    }
    taken.add(name.toLowerCase())
  }
}

const dimensionsFields = readFields({ dimensions: optional(readList(readDimension)) })

/** A dimensionsSpec; without dimensions the columns stay as they are found. */
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
      throw refuse(`${field}.expression`, expression, 'null: fieldName names the column')
    return metric
  })
}
const readMetric = readByType<MetricSchema>(
  Object.fromEntries(metricTypes.map((type) => [type, metricOf(type)])),
)

const readMetrics = readList(readMetric)

/** A metricsSpec. */
export const readMetricsSpec: Reader<readonly MetricSchema[]> = described(readMetrics, (json, field) => {
  const metrics = readMetrics(json, field)
  assertDistinct(metrics, field)
  return metrics
})
