import { type DimensionType, dimensionTypes, type MetricType, metricTypes } from '../segment/index.ts'
import {
  checked,
  converted,
  described,
  hasControlCharacter,
  isJsonObject,
  maxNameLength,
  optional,
  type Reader,
  readByType,
  readFields,
  readFlag,
  readList,
  readOneOf,
  readShortText,
  readText,
  refuse,
  schemaOf,
} from '../validation/index.ts'

/** A dimension column. */
export interface DimensionSchema {
  readonly type: DimensionType
  readonly name: string
  readonly multiValueHandling: 'SORTED_ARRAY' | 'SORTED_SET' | 'ARRAY'
  readonly createBitmapIndex: boolean
}

/** A metric column, which is aggregated. A count needs no fieldName. */
export interface MetricSchema {
  readonly type: MetricType
  readonly name: string
  readonly fieldName?: string
}

/** Reads the name of a column of the input. */
export const readInputColumn: Reader<string> = checked(
  readShortText(maxNameLength, 'a name'),
  (name) => !hasControlCharacter(name),
  'a name without control characters',
)

const readColumn = checked(
  readInputColumn,
  (name) => name.toLowerCase() !== '__time',
  'a name other than [__time], which is the timestamp column',
)

const multiValueHandlings = ['SORTED_ARRAY', 'SORTED_SET', 'ARRAY'] as const
const readMultiValueHandling: Reader<DimensionSchema['multiValueHandling']> = described(
  { type: 'string', description: multiValueHandlings.join(', ') },
  (json, field) =>
    readOneOf(multiValueHandlings)(typeof json === 'string' ? json.toUpperCase() : json, field),
)
const dimensionOf = (type: DimensionType): Reader<DimensionSchema> =>
  readFields({
    type: optional(readOneOf([type]), type),
    name: readColumn,
    multiValueHandling: optional(readMultiValueHandling, 'SORTED_ARRAY' as const),
    // In Druid 37, only string columns have a bitmap index.
    createBitmapIndex: optional(readFlag, type === 'string'),
  })
const typedDimension = readByType(Object.fromEntries(dimensionTypes.map((type) => [type, dimensionOf(type)])))
const untypedDimension = dimensionOf('string')
const readDimension: Reader<DimensionSchema> = described(
  { anyOf: [{ type: 'string' }, schemaOf(untypedDimension), schemaOf(typedDimension)] },
  (json, field, problems) => {
    const given = typeof json === 'string' ? { name: json } : json
    if (!isJsonObject(given)) throw refuse(field, json, 'a name or an object')
    const read = given.type === undefined || given.type === null ? untypedDimension : typedDimension
    return read(given, field, problems)
  },
)

/** Reads the dimensions of a dimensionsSpec. */
export const readDimensions: Reader<readonly DimensionSchema[]> = readList(readDimension)

const metricFields = readFields({
  type: readOneOf(metricTypes),
  name: readColumn,
  fieldName: optional(readInputColumn),
  expression: optional(readText),
})
const readMetric: Reader<MetricSchema> = converted(
  metricFields,
  ({ fieldName, expression, ...metric }, field) => {
    if (expression !== null)
      throw refuse(`${field}.expression`, expression, 'null, because expressions are not supported')
    if (fieldName !== null) return { ...metric, fieldName }
    if (metric.type !== 'count') throw refuse(`${field}.fieldName`, undefined, 'a column name')
    return metric
  },
)

/** Reads a metricsSpec. */
export const readMetrics: Reader<readonly MetricSchema[]> = readList(readMetric)
