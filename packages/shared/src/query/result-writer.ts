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
import { nativeScalarType } from './native-type.ts'
import type { AnswerStyle } from './query-protocol.ts'

/** A column of the answer. */
export interface ResultColumn {
  readonly name: string
  readonly type: DuckDBType
}

/** Makes the text of an answer, part by part. */
export interface ResultWriter {
  /** What stands before all rows, the header included. */
  start(): string
  /** One row; values in the order of the columns. */
  row(values: readonly DuckDBValue[], isFirst: boolean): string
  /** What stands behind all rows: whoever misses it has not the whole answer. */
  end(): string
}

const dayMs = 86_400_000

/** The text of an instant as the recorded system writes it; `infinity` where it is none. */
function instantText(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? (ms > 0 ? 'infinity' : '-infinity') : date.toISOString()
}

/** Epoch milliseconds of a value that is a point in time, rounded down. */
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

/** The shortest decimal number that stands for this value of 32 bits. */
function floatText(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return String(short)
  }
  return String(value)
}

/** A value as JSON: whole numbers with all their digits, what is no number of JSON as a text. */
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
    return `[${value.items.map((item) => jsonText(item)).join(',')}]`
  if (value instanceof DuckDBStructValue) {
    return `{${Object.entries(value.entries)
      .map(([name, entry]) => `${JSON.stringify(name)}:${jsonText(entry)}`)
      .join(',')}}`
  }
  if (value instanceof DuckDBMapValue) {
    return `{${value.entries
      .map(({ key, value: entry }) => `${JSON.stringify(plainText(key))}:${jsonText(entry)}`)
      .join(',')}}`
  }
  if (value instanceof DuckDBUnionValue) return jsonText(value.value)
  if (value instanceof DuckDBBlobValue) return JSON.stringify(Buffer.from(value.bytes).toString('base64'))
  return JSON.stringify(String(value))
}

/** A value as the text of a field; nothing is the empty text. */
function plainText(value: DuckDBValue, type?: DuckDBType): string {
  if (value === null) return ''
  if (typeof value === 'string') return value
  const text = jsonText(value, type)
  return text.startsWith('"') ? (JSON.parse(text) as string) : text
}

const csvField = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** The type of a column as segments have it. */
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

/** The type of a column as SQL of the recorded system has it. */
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

/** The writer of a style for these columns. */
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
  const keys = columns.map(({ name }) => `${JSON.stringify(name)}:`)
  const row = (values: readonly DuckDBValue[]): string => {
    let text = '{'
    for (let index = 0; index < columns.length; index++) {
      if (index > 0) text += ','
      text += keys[index] as string
      text += jsonText(values[index] as DuckDBValue, (columns[index] as ResultColumn).type)
    }
    return `${text}}`
  }
  const described = ({ type }: ResultColumn): string => {
    if (!style.typesHeader && !style.sqlTypesHeader) return 'null'
    const types = {
      ...(style.typesHeader ? { type: nativeType(type) } : {}),
      ...(style.sqlTypesHeader ? { sqlType: sqlType(type) } : {}),
    }
    return JSON.stringify(types)
  }
  const header = style.header
    ? [`{${columns.map((column, index) => `${keys[index]}${described(column)}`).join(',')}}`]
    : []
  return style.format === 'object' ? listWriter(header, row) : lineWriter(header, row)
}

function arrayWriter(style: AnswerStyle, columns: readonly ResultColumn[]): ResultWriter {
  const row = (values: readonly DuckDBValue[]): string => {
    let text = '['
    for (let index = 0; index < columns.length; index++) {
      if (index > 0) text += ','
      text += jsonText(values[index] as DuckDBValue, (columns[index] as ResultColumn).type)
    }
    return `${text}]`
  }
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

/** Rows as one JSON list. */
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

/** Rows as lines; an empty line behind the last one tells that it is the last. */
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
