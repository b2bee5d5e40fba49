import {
  DuckDBArrayValue,
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  DuckDBTypeId,
  DuckDBUnionValue,
  type DuckDBValue,
} from '@duckdb/node-api'
import { jsonListOfTexts, jsonObjectOfMemberTexts, jsonObjectOfTexts, memberText } from '@svc/domain/json'
import { nativeScalarType } from './native-type.ts'
import type { AnswerStyle } from './query-protocol.ts'

/** A column of the result. */
export interface ResultColumn {
  readonly name: string
  readonly type: DuckDBType
}

/** Writes the text of a result, part by part. */
export interface ResultWriter {
  /** Returns the text before all rows, including the header. */
  start(): string
  /** Returns the text of a row. The values are in the order of the columns. */
  row(values: readonly DuckDBValue[], isFirst: boolean): string
  /** Returns the text after all rows. A result without it is incomplete. */
  end(): string
}

const dayMs = 86_400_000

/** Returns an instant in Druid's format; `infinity` or `-infinity` if it is out of range. */
function instantText(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? (ms > 0 ? 'infinity' : '-infinity') : date.toISOString()
}

/** Returns the epoch milliseconds of a date or timestamp, rounded down; undefined for other values. */
function instantOf(value: DuckDBValue): number | undefined {
  if (value instanceof DuckDBTimestampMillisecondsValue) return Number(value.millis)
  if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue)
    return floorDivide(value.micros, 1000n)
  if (value instanceof DuckDBTimestampSecondsValue) return Number(value.seconds) * 1000
  if (value instanceof DuckDBTimestampNanosecondsValue) return floorDivide(value.nanos, 1_000_000n)
  if (value instanceof DuckDBDateValue) return value.days * dayMs
  return undefined
}

const floorDivide = (dividend: bigint, divisor: bigint): number =>
  Number(dividend / divisor - (dividend % divisor < 0n ? 1n : 0n))

/** Returns the shortest decimal number for a 32-bit float. */
function floatText(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return String(short)
  }
  return String(value)
}

/** Returns a value as JSON: integers with all their digits, and numbers that JSON does not support as strings. */
function jsonText(value: DuckDBValue, type?: DuckDBType): string {
  if (value === null) return 'null'
  switch (typeof value) {
    case 'boolean':
      return value ? 'true' : 'false'
    case 'bigint':
      return value.toString()
    case 'number': {
      if (!Number.isFinite(value)) return `"${value}"`
      return type?.typeId === DuckDBTypeId.FLOAT ? floatText(value) : String(value)
    }
    case 'string':
      return JSON.stringify(value)
  }
  const instant = instantOf(value)
  if (instant !== undefined) return JSON.stringify(instantText(instant))
  if (value instanceof DuckDBDecimalValue) return value.toString()
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue)
    return jsonListOfTexts(value.items.map((item) => jsonText(item)))
  if (value instanceof DuckDBStructValue)
    return jsonObjectOfTexts(Object.entries(value.entries).map(([name, entry]) => [name, jsonText(entry)]))
  if (value instanceof DuckDBMapValue)
    return jsonObjectOfTexts(value.entries.map(({ key, value: entry }) => [plainText(key), jsonText(entry)]))
  if (value instanceof DuckDBUnionValue) return jsonText(value.value)
  if (value instanceof DuckDBBlobValue) return JSON.stringify(Buffer.from(value.bytes).toString('base64'))
  return JSON.stringify(String(value))
}

/** Returns a value as the text of a CSV field; empty for null. */
function plainText(value: DuckDBValue, type?: DuckDBType): string {
  if (value === null) return ''
  if (typeof value === 'string') return value
  const text = jsonText(value, type)
  return text.startsWith('"') ? (JSON.parse(text) as string) : text
}

const csvField = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Returns the native type of a column. */
function nativeType(type: DuckDBType): string {
  switch (type.typeId) {
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY:
      return 'valueType' in type ? `ARRAY<${nativeType(type.valueType as DuckDBType)}>` : 'ARRAY<STRING>'
    case DuckDBTypeId.STRUCT:
    case DuckDBTypeId.MAP:
      return 'COMPLEX<json>'
    default:
      return nativeScalarType(String(type))
  }
}

/** Returns Druid's SQL type of a column. */
function sqlType(type: DuckDBType): string {
  switch (type.typeId) {
    case DuckDBTypeId.TIMESTAMP:
    case DuckDBTypeId.TIMESTAMP_S:
    case DuckDBTypeId.TIMESTAMP_MS:
    case DuckDBTypeId.TIMESTAMP_NS:
    case DuckDBTypeId.TIMESTAMP_TZ:
      return 'TIMESTAMP'
    case DuckDBTypeId.DATE:
      return 'DATE'
    case DuckDBTypeId.BOOLEAN:
      return 'BOOLEAN'
    case DuckDBTypeId.INTEGER:
    case DuckDBTypeId.SMALLINT:
    case DuckDBTypeId.TINYINT:
      return 'INTEGER'
    case DuckDBTypeId.DECIMAL:
      return 'DECIMAL'
    default: {
      const native = nativeType(type)
      if (native === 'LONG') return 'BIGINT'
      if (native.startsWith('ARRAY')) return 'ARRAY'
      return { FLOAT: 'FLOAT', DOUBLE: 'DOUBLE', 'COMPLEX<json>': 'OTHER' }[native] ?? 'VARCHAR'
    }
  }
}

/** Creates a writer for a style and columns. */
export function createResultWriter(style: AnswerStyle, columns: readonly ResultColumn[]): ResultWriter {
  switch (style.format) {
    case 'object':
    case 'objectLines':
      return objectWriter(style, columns)
    case 'array':
    case 'arrayLines':
      return arrayWriter(style, columns)
    case 'csv':
      return csvWriter(style, columns)
  }
}

function objectWriter(style: AnswerStyle, columns: readonly ResultColumn[]): ResultWriter {
  // The names are the same in every row.
  const keys = columns.map(({ name }) => memberText([name, '']))
  const row = (values: readonly DuckDBValue[]): string =>
    jsonObjectOfMemberTexts(values.map((value, index) => keys[index] + jsonText(value, columns[index]?.type)))
  const described = ({ type }: ResultColumn): string => {
    if (!style.typesHeader && !style.sqlTypesHeader) return 'null'
    const types = {
      ...(style.typesHeader ? { type: nativeType(type) } : {}),
      ...(style.sqlTypesHeader ? { sqlType: sqlType(type) } : {}),
    }
    return JSON.stringify(types)
  }
  const header = style.header
    ? [jsonObjectOfTexts(columns.map((column) => [column.name, described(column)]))]
    : []
  return style.format === 'object' ? listWriter(header, row) : lineWriter(header, row)
}

function arrayWriter(style: AnswerStyle, columns: readonly ResultColumn[]): ResultWriter {
  const row = (values: readonly DuckDBValue[]): string =>
    jsonListOfTexts(values.map((value, index) => jsonText(value, columns[index]?.type)))
  const header = headerRows(style, columns).map((names) => JSON.stringify(names))
  return style.format === 'array' ? listWriter(header, row) : lineWriter(header, row)
}

function csvWriter(style: AnswerStyle, columns: readonly ResultColumn[]): ResultWriter {
  const line = (fields: readonly string[]): string => fields.map(csvField).join(',')
  return lineWriter(headerRows(style, columns).map(line), (values) =>
    line(values.map((value, index) => plainText(value, columns[index]?.type))),
  )
}

function headerRows(style: AnswerStyle, columns: readonly ResultColumn[]): string[][] {
  if (!style.header) return []
  return [
    columns.map(({ name }) => name),
    ...(style.typesHeader ? [columns.map(({ type }) => nativeType(type))] : []),
    ...(style.sqlTypesHeader ? [columns.map(({ type }) => sqlType(type))] : []),
  ]
}

/** Writes rows as one JSON list. */
function listWriter(
  header: readonly string[],
  row: (values: readonly DuckDBValue[]) => string,
): ResultWriter {
  return {
    start: () => `[${header.join(',')}`,
    row: (values, isFirst) => (isFirst && header.length === 0 ? row(values) : `,${row(values)}`),
    end: () => ']\n',
  }
}

/** Writes rows as lines. An empty line after the last row marks the end of the result. */
function lineWriter(
  header: readonly string[],
  row: (values: readonly DuckDBValue[]) => string,
): ResultWriter {
  return {
    start: () => header.map((line) => `${line}\n`).join(''),
    row: (values) => `${row(values)}\n`,
    end: () => '\n',
  }
}
