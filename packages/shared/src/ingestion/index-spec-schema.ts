import { dimensionTypes, metricTypes } from '@svc/domain/segment'
import {
  findGranularity,
  type Granularity,
  granularities,
  parseInstant,
  parseInterval,
} from '@svc/domain/time'
import { hasControlCharacter, isJsonObject } from '@svc/domain/validation'
import { z } from 'zod'
import { listOf } from '../wire/index.ts'
import type { MetricSpec } from './index-spec.ts'
import { namedTimestampFormats, strptimeFormat } from './timestamp-format.ts'

const maxNameLength = 255
const maxListLength = 10_000

const text = z.string({ error: 'a string' })
const filledText = text.min(1, { error: 'a non-empty string' })
const flag = z.boolean({ error: 'true or false' })
const integer = z.int({ error: 'an integer' })
const countOf = (min: number) => integer.min(min, { error: `an integer of at least ${min}` })
const object = z.record(z.string(), z.unknown(), { error: 'an object' })
const list = <T extends z.ZodType>(item: T, what = 'entries', max = maxListLength) =>
  listOf(item, { error: 'a list', max, tooLong: `at most ${max} ${what}` })
const oneOf = <const T extends readonly string[]>(values: T) =>
  z.enum(values, { error: `one of [${values.join(', ')}]` })
/** An optional field; as in Druid 37, null means the same as no value. */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined)
const optionalOr = <T extends z.ZodType>(schema: T, fallback: z.output<T>) =>
  schema.nullish().transform((value) => value ?? fallback)

function record<T extends z.ZodRawShape>(shape: T, otherwise = 'an object') {
  return z.strictObject(shape, {
    // parseJson lists the known fields.
    error: ({ code }) => (code === 'unrecognized_keys' ? undefined : otherwise),
  })
}

/** A non-empty string. If it is too long, it is not checked further. */
const boundedText = (max: number, what = 'a string') =>
  filledText.max(max, { error: `${what} of at most ${max} characters`, abort: true })

const columnName = boundedText(maxNameLength, 'a name').refine((name) => !hasControlCharacter(name), {
  error: 'a name without control characters',
})
const storedColumnName = columnName.refine((name) => name.toLowerCase() !== '__time', {
  error: 'a name other than [__time], the timestamp of the row',
})

const dataSourceName = boundedText(maxNameLength, 'a name')
  .refine((name) => name === name.trim(), { error: 'a name without leading or trailing white space' })
  .refine((name) => !name.includes('/'), { error: 'a name without [/]' })
  .refine((name) => !hasControlCharacter(name), {
    error: 'a name without control characters',
  })

const granularity = text.transform((value, context): Granularity => {
  const found = findGranularity(value)
  if (found !== undefined) return found
  context.addIssue(`one of [${granularities.join(', ')}]`)
  return z.NEVER
})

function timeText<T>(parse: (value: string) => T, allowed: string) {
  return text.transform((value, context): T => {
    try {
      return parse(value)
    } catch {
      context.addIssue(allowed)
      return z.NEVER
    }
  })
}

const maxFormatLength = 255
const timestampFormat = boundedText(maxFormatLength).superRefine((format, context) => {
  if (namedTimestampFormats.some((named) => named === format)) return
  const strptime = strptimeFormat(format)
  if ('problem' in strptime) {
    context.addIssue(
      `one of [${namedTimestampFormats.join(', ')}] or a pattern such as [yyyy-MM-dd HH:mm:ss] (this pattern has ${strptime.problem})`,
    )
  }
})

function parseFiniteInstant(value: string): number {
  const instantMs = parseInstant(value)
  if (!Number.isFinite(instantMs)) throw new RangeError(value)
  return instantMs
}

const timestampSpec = record({
  column: optionalOr(columnName, 'timestamp'),
  format: optionalOr(timestampFormat, 'auto'),
  missingValue: optional(timeText(parseFiniteInstant, 'an ISO 8601 date or date-time')),
})

const dimension = z
  .preprocess(
    (value) => (typeof value === 'string' ? { name: value } : value),
    record(
      {
        type: optionalOr(oneOf(dimensionTypes), 'string'),
        name: storedColumnName,
        createBitmapIndex: optional(flag),
        multiValueHandling: optional(text),
      },
      'a name or an object',
    ).transform(({ name, type }) => ({ name, type })),
  )
  .meta({ type: ['string', 'object'] })

const dimensionsSpec = record({
  dimensions: optionalOr(list(dimension, 'names'), []),
  dimensionExclusions: optionalOr(list(columnName), []),
})

const metric = record({ type: oneOf(metricTypes), name: storedColumnName, fieldName: optional(columnName) })
  .refine(({ type, fieldName }) => type === 'count' || fieldName !== undefined, {
    error: 'a column name',
    path: ['fieldName'],
  })
  .transform(({ type, name, fieldName }): MetricSpec => ({ type, name, fieldName: fieldName ?? '' }))

const granularitySpec = record({
  type: optional(oneOf(['uniform'])),
  segmentGranularity: optionalOr(granularity, 'DAY'),
  queryGranularity: optionalOr(granularity, 'NONE'),
  rollup: optionalOr(flag, true),
  intervals: optional(list(timeText(parseInterval, 'an ISO 8601 interval such as [2026-01-01/2026-02-01]'))),
})
  .refine((spec) => spec.segmentGranularity !== 'NONE', {
    error: `one of [${granularities.filter((known) => known !== 'NONE').join(', ')}]`,
    path: ['segmentGranularity'],
  })
  .refine((spec) => spec.segmentGranularity !== 'ALL' || spec.queryGranularity !== 'ALL', {
    error: 'a granularity other than ALL when [segmentGranularity] is ALL',
    path: ['queryGranularity'],
  })

const dataSchema = record({
  dataSource: dataSourceName,
  timestampSpec,
  dimensionsSpec: optionalOr(dimensionsSpec, { dimensions: [], dimensionExclusions: [] }),
  metricsSpec: optionalOr(list(metric), []),
  granularitySpec: optionalOr(granularitySpec, {
    type: 'uniform',
    segmentGranularity: 'DAY',
    queryGranularity: 'NONE',
    rollup: true,
    intervals: undefined,
  }),
  transformSpec: z.null({ error: 'null (transforms are not supported)' }).optional(),
})

// Max length of a path that file systems accept, and of a URI that servers accept.
const path = boundedText(4096)
const maxUriLength = 8192

const inputSourceTypes = ['inline', 'local', 'http'] as const
const inputSource = z.discriminatedUnion(
  'type',
  [
    record({ type: z.literal('inline'), data: text }),
    record({
      type: z.literal('local'),
      baseDir: optional(path),
      filter: optional(path),
      files: optionalOr(list(path, 'files'), []),
    })
      .refine(({ baseDir, files }) => baseDir !== undefined || files.length > 0, {
        error: 'a folder unless [files] is given',
        path: ['baseDir'],
      })
      .refine(({ baseDir, filter }) => (baseDir === undefined) === (filter === undefined), {
        error: 'a pattern such as [*.csv] together with [baseDir]',
        path: ['filter'],
      }),
    record({
      type: z.literal('http'),
      uris: list(boundedText(maxUriLength), 'URIs').min(1, { error: 'a list with at least one URI' }),
    }),
  ],
  { error: (issue) => discriminatorMessage(issue.input, inputSourceTypes) },
)

const inputFormatTypes = ['json', 'csv', 'tsv', 'parquet'] as const
const separated = <T extends 'csv' | 'tsv'>(type: T, defaultDelimiter: string) =>
  record({
    type: z.literal(type),
    columns: optional(
      list(columnName)
        .min(1, { error: 'a list with at least one name' })
        .refine((names) => new Set(names).size === names.length, { error: 'a list without duplicates' }),
    ),
    findColumnsFromHeader: optionalOr(flag, false),
    skipHeaderRows: optionalOr(countOf(0), 0),
    delimiter: optionalOr(
      text.refine((value) => /^[^"\r\n]$/.test(value), {
        error: 'a single character other than a quote or a line break',
      }),
      defaultDelimiter,
    ),
  })
    .refine((format) => format.findColumnsFromHeader || format.columns !== undefined, {
      error: 'a list of names unless [findColumnsFromHeader] is true',
      path: ['columns'],
    })
    .transform(({ findColumnsFromHeader, columns, ...format }) => ({
      ...format,
      columns: findColumnsFromHeader ? undefined : columns,
    }))
const inputFormat = z.discriminatedUnion(
  'type',
  [
    record({ type: z.literal('json') }),
    separated('csv', ','),
    separated('tsv', '\t'),
    record({ type: z.literal('parquet') }),
  ],
  { error: (issue) => discriminatorMessage(issue.input, inputFormatTypes) },
)

// Zod reports an unknown discriminator at the discriminator itself, and any other issue at the object.
function discriminatorMessage(input: unknown, types: readonly string[]): string {
  return isJsonObject(input) ? `one of [${types.join(', ')}]` : 'an object'
}

const taskType = oneOf(['index_parallel'])

const ioConfig = record({
  type: taskType,
  inputSource,
  inputFormat,
  appendToExisting: optionalOr(flag, false),
  dropExisting: optionalOr(flag, false),
})
  .refine(({ appendToExisting, dropExisting }) => !(appendToExisting && dropExisting), {
    error: 'false when [appendToExisting] is true',
    path: ['dropExisting'],
  })
  .refine((config) => config.inputSource.type !== 'inline' || config.inputFormat.type !== 'parquet', {
    error: 'one of [json, csv, tsv] for inline data',
    path: ['inputFormat', 'type'],
  })

const partitionsSpec = record({
  type: oneOf(['dynamic']),
  maxRowsPerSegment: optional(countOf(1)),
  maxTotalRows: optional(countOf(1)),
})

// Fields that tune how Druid builds segments are accepted and checked for their type, but have no effect.
const tuningConfig = record({
  type: optional(taskType),
  partitionsSpec: optional(partitionsSpec),
  maxRowsPerSegment: optional(countOf(1)),
  maxTotalRows: optional(countOf(1)),
  maxParseExceptions: optionalOr(countOf(0), 0),
  logParseExceptions: optionalOr(flag, false),
  maxSavedParseExceptions: optional(countOf(0)),
  reportParseExceptions: optional(flag),
  forceGuaranteedRollup: optional(
    z.literal(false, { error: 'false (only dynamic partitions are supported)' }),
  ),
  maxRowsInMemory: optional(integer),
  maxBytesInMemory: optional(integer),
  maxColumnsToMerge: optional(integer),
  maxPendingPersists: optional(countOf(0)),
  maxNumConcurrentSubTasks: optional(countOf(1)),
  maxNumSegmentsToMerge: optional(countOf(1)),
  totalNumMergeTasks: optional(countOf(1)),
  maxRetry: optional(countOf(0)),
  pushTimeout: optional(countOf(0)),
  taskStatusCheckPeriodMs: optional(countOf(0)),
  chatHandlerTimeout: optional(text),
  chatHandlerNumRetries: optional(countOf(0)),
  appendableIndexSpec: optional(object),
  splitHintSpec: optional(object),
  indexSpec: optional(object),
  indexSpecForIntermediatePersists: optional(object),
  segmentWriteOutMediumFactory: optional(object),
}).refine((config) => config.partitionsSpec === undefined || config.maxRowsPerSegment === undefined, {
  error: 'no value when [partitionsSpec] is given',
  path: ['maxRowsPerSegment'],
})

/** The schema of an index_parallel task. Its error messages say what is expected, see parseJson. */
export const indexTask = record({
  type: taskType,
  id: optional(
    boundedText(maxNameLength, 'an id').refine((id) => !hasControlCharacter(id) && id === id.trim(), {
      error: 'an id without control characters or leading or trailing white space',
    }),
  ),
  groupId: optional(
    boundedText(maxNameLength, 'an id').refine((id) => !hasControlCharacter(id), {
      error: 'an id without control characters',
    }),
  ),
  context: optionalOr(object, {}),
  spec: record({ dataSchema, ioConfig, tuningConfig: optional(tuningConfig) }),
})

/** The shape of an index_parallel task. */
export const indexTaskShape = indexTask.meta({ title: 'IndexTask' })
