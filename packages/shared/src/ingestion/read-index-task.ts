import { indexTaskType } from '@svc/domain/ingestion'
import {
  checkedGranularitySpec,
  granularityFields,
  readDimensions,
  readDynamicPartitions,
  readGranularityName,
  readInputColumn,
  readMetrics,
  tuningFields,
} from '@svc/domain/specs'
import { parseInstant, parseInterval } from '@svc/domain/time'
import {
  checked,
  converted,
  hasControlCharacter,
  maxNameLength,
  optional,
  type Reader,
  readAnyObject,
  readByType,
  readCount,
  readDatasourceName,
  readFields,
  readFlag,
  readList,
  readOneOf,
  readShortText,
  readText,
  refuse,
  titled,
} from '@svc/domain/validation'
import type { InputFormat, InputSource } from './index-spec.ts'
import { namedTimestampFormats, strptimeFormat } from './timestamp-format.ts'

/** Reads a string with a parser from the domain package, and replaces the parser's own error messages. */
const parsedText = <Value>(parse: (text: string) => Value, expected: string): Reader<Value> =>
  converted(readText, (text, field) => {
    try {
      return parse(text)
    } catch {
      throw refuse(field, text, expected)
    }
  })

const maxFormatLength = 255
const readTimestampFormat = converted(readShortText(maxFormatLength), (format, field) => {
  if (namedTimestampFormats.some((named) => named === format)) return format
  const strptime = strptimeFormat(format)
  if ('problem' in strptime) {
    throw refuse(
      field,
      format,
      `one of [${namedTimestampFormats.join(', ')}] or a pattern such as [yyyy-MM-dd HH:mm:ss] (this pattern has ${strptime.problem})`,
    )
  }
  return format
})

function parseFiniteInstant(text: string): number {
  const instantMs = parseInstant(text)
  if (!Number.isFinite(instantMs)) throw new RangeError(text)
  return instantMs
}

const readTimestampSpec = readFields({
  column: optional(readInputColumn, 'timestamp'),
  format: optional(readTimestampFormat, 'auto'),
  missingValue: optional(parsedText(parseFiniteInstant, 'an ISO 8601 date or date-time')),
})

const readGranularitySpec = checkedGranularitySpec(
  readFields({
    type: optional(readOneOf(['uniform'])),
    ...granularityFields(readGranularityName),
    intervals: optional(
      readList(parsedText(parseInterval, 'an ISO 8601 interval such as [2026-01-01/2026-02-01]')),
    ),
  }),
)

const readDataSchema = readFields({
  dataSource: readDatasourceName,
  timestampSpec: readTimestampSpec,
  dimensionsSpec: optional(
    readFields({
      dimensions: optional(readDimensions, []),
      dimensionExclusions: optional(readList(readInputColumn), []),
    }),
  ),
  metricsSpec: optional(readMetrics, []),
  granularitySpec: optional(readGranularitySpec),
  transformSpec: onlyNull('null (transforms are not supported)'),
})

function onlyNull(expected: string): Reader<null> {
  const refuseValue: Reader<null> = (json, field) => {
    throw refuse(field, json, expected)
  }
  return Object.assign(optional(refuseValue), { schema: () => ({ type: 'null' }) })
}

// Max length of a path that file systems accept, and of a URI that servers accept.
const readPath = readShortText(4096)
const readUri = readShortText(8192)

const localFields = readFields({
  type: readOneOf(['local']),
  baseDir: optional(readPath),
  filter: optional(readPath),
  files: optional(readList(readPath), []),
})
const readLocal: Reader<InputSource> = converted(localFields, ({ baseDir, filter, ...source }, field) => {
  if (baseDir === null && source.files.length === 0)
    throw refuse(`${field}.baseDir`, undefined, 'a folder unless [files] is given')
  if ((baseDir === null) !== (filter === null))
    throw refuse(`${field}.filter`, filter ?? undefined, 'a pattern such as [*.csv] together with [baseDir]')
  return baseDir === null || filter === null ? source : { ...source, baseDir, filter }
})

const readInputSource = readByType<InputSource>(
  {
    inline: readFields({ type: readOneOf(['inline']), data: readText }),
    local: readLocal,
    http: readFields({ type: readOneOf(['http']), uris: readList(readUri, { min: 1, item: 'URI' }) }),
  },
  { expected: 'an object' },
)

const readSeparator = checked(
  readText,
  (text) => /^[^"\r\n]$/.test(text),
  'a single character other than a double quote or a line break',
)
const readColumns = checked(
  readList(readInputColumn, { min: 1, item: 'name' }),
  (names) => new Set(names).size === names.length,
  'a list without duplicates',
)
const separated = <const Type extends 'csv' | 'tsv'>(type: Type, delimiter: string): Reader<InputFormat> =>
  converted(
    readFields({
      type: readOneOf([type]),
      columns: optional(readColumns),
      findColumnsFromHeader: optional(readFlag, false),
      skipHeaderRows: optional(readCount(0), 0),
      delimiter: optional(readSeparator, delimiter),
    }),
    ({ findColumnsFromHeader, columns, ...format }, field) => {
      if (findColumnsFromHeader) return { ...format, columns: undefined }
      if (columns === null)
        throw refuse(
          `${field}.columns`,
          undefined,
          'a list of names unless [findColumnsFromHeader] is [true]',
        )
      return { ...format, columns }
    },
  )
const readInputFormat = readByType<InputFormat>(
  {
    json: readFields({ type: readOneOf(['json']) }),
    csv: separated('csv', ','),
    tsv: separated('tsv', '\t'),
    parquet: readFields({ type: readOneOf(['parquet']) }),
  },
  { expected: 'an object' },
)

const readTaskType = readOneOf([indexTaskType])

const ioFields = readFields({
  type: readTaskType,
  inputSource: readInputSource,
  inputFormat: readInputFormat,
  appendToExisting: optional(readFlag, false),
  dropExisting: optional(readFlag, false),
})
const readIoConfig = converted(ioFields, (config, field) => {
  const { appendToExisting, dropExisting, inputSource, inputFormat } = config
  if (appendToExisting && dropExisting)
    throw refuse(`${field}.dropExisting`, dropExisting, '[false] when [appendToExisting] is [true]')
  if (inputSource.type === 'inline' && inputFormat.type === 'parquet')
    throw refuse(`${field}.inputFormat.type`, inputFormat.type, 'one of [json, csv, tsv] for inline data')
  return config
})

const count = (min: number) => optional(readCount(min))

// Fields that tune how Druid builds segments are accepted and checked for their type, but have no effect.
const readFieldsOfTuning = readFields({
  type: optional(readTaskType),
  partitionsSpec: optional(readDynamicPartitions),
  maxRowsPerSegment: count(1),
  maxTotalRows: count(1),
  maxParseExceptions: optional(readCount(0), 0),
  logParseExceptions: optional(readFlag, false),
  maxSavedParseExceptions: count(0),
  reportParseExceptions: optional(readFlag),
  forceGuaranteedRollup: optional(
    checked(readFlag, (isPerfect) => !isPerfect, '[false] (only dynamic partitions are supported)'),
  ),
  ...tuningFields,
})
const readTuningConfig = converted(readFieldsOfTuning, (config, field) => {
  const { partitionsSpec, maxRowsPerSegment } = config
  if (partitionsSpec !== null && maxRowsPerSegment !== null)
    throw refuse(`${field}.maxRowsPerSegment`, maxRowsPerSegment, 'no value when [partitionsSpec] is given')
  return config
})

const readId = readShortText(maxNameLength, 'an ID')

/** Reads an index_parallel task, without checking whether it may read its input. */
export const readIndexTask = titled(
  'IndexTask',
  readFields({
    type: readTaskType,
    id: optional(
      checked(
        readId,
        (id) => !hasControlCharacter(id) && id === id.trim(),
        'an ID without control characters or leading or trailing whitespace',
      ),
    ),
    groupId: optional(checked(readId, (id) => !hasControlCharacter(id), 'an ID without control characters')),
    context: optional(readAnyObject, {}),
    spec: readFields({
      dataSchema: readDataSchema,
      ioConfig: readIoConfig,
      tuningConfig: optional(readTuningConfig),
    }),
  }),
)
