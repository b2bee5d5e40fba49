import type { DuckDBConnection, DuckDBPreparedStatement, DuckDBValue } from '@duckdb/node-api'
import { Failure, invalidInput, tooLarge, unavailable } from '@svc/domain/failure'
import { timesOf } from '@svc/domain/querying'
import type { SegmentColumn } from '@svc/domain/segment'
import {
  identifier,
  type LockedDatabase,
  literal,
  literalList,
  openLockedDatabase,
  storedTypes,
} from '@svc/shared/duckdb'
import type { Parameter } from '../sql/index.ts'
import {
  checkRewritten,
  informationSchemaName,
  placeBefore,
  queryFailure,
  readStatement,
  SqlText,
  type Statement,
  type TimeValue,
  withValues,
  withWrittenNames,
} from '../sql/index.ts'
import type {
  DatasourceRelation,
  QueryOrder,
  QueryText,
  RelationFile,
  SystemRelation,
} from './query-protocol.ts'

/** Writes a part of a result; resolves when it can take more. */
export type AnswerSink = (text: string) => Promise<void>

const parserMemoryBytes = 64 * 2 ** 20

/** Parses and validates a query with its parameters, with DuckDB's parser in a database without data. */
export async function parseQuery(
  { sql, parameters, schema }: QueryText,
  spillDirectory: string,
): Promise<Statement> {
  const database = await openLockedDatabase({
    directories: [],
    files: [],
    spillDirectory,
    memoryLimitBytes: parserMemoryBytes,
    threads: 1,
  })
  try {
    const readable = new SqlText(sql).readable()
    const parsed = await parseText(database, readable)
    const { tables, text, expressions, meant } = readStatement(readable, parsed, schema, parameters)
    if (text.sql !== readable) checkRewritten(meant, await parseText(database, text.sql))
    const values = await timeValues(database, expressions, parameters, text.macros)
    return {
      text,
      tables: tables.map(({ condition, ...table }) => ({
        ...table,
        times: condition && values && timesOf(withValues(condition, values)),
      })),
    }
  } finally {
    database.close()
  }
}

/** Returns the parse result of DuckDB for a query, as JSON. */
async function parseText({ connection }: LockedDatabase, sql: string): Promise<string> {
  const prepared = await connection.prepare('SELECT json_serialize_sql($1::VARCHAR)')
  prepared.bindVarchar(1, sql)
  try {
    const [row] = await (await prepared.run()).getRows()
    return row?.[0] as string
  } catch (error) {
    if (!/^Out of Memory/.test((error as Error).message)) throw error
    throw tooLarge(
      `The query is too complex: parsing it needs more than [${parserMemoryBytes}] bytes of memory. Use fewer values or clauses.`,
      {},
      error,
    )
  }
}

// Values that times are compared with may be finer than a millisecond, and are rounded in more than one way.
const roundingMs = 1
// The current time moves on between this evaluation and the query, and the time zone can shift it.
const movingMs = 86_400_000

/** Evaluates expressions as times. Returns undefined if one of them is not a time. */
async function timeValues(
  { connection }: LockedDatabase,
  expressions: readonly object[],
  parameters: readonly Parameter[],
  macros: readonly string[],
): Promise<TimeValue[] | undefined> {
  if (expressions.length === 0) return []
  try {
    for (const macro of macros) await connection.run(macro)
    const [template] = await (await connection.run("SELECT json_serialize_sql('SELECT 1')")).getRows()
    const deserialize = await connection.prepare('SELECT json_deserialize_sql($1::JSON)')
    const values: TimeValue[] = []
    for (const expression of expressions) {
      const parsed = JSON.parse(String(template?.[0]))
      parsed.statements[0].node.select_list = [expression]
      const named: string[] = []
      const json = JSON.stringify(parsed, (key, value) => {
        // Omit locations: the number for "no location" does not fit into a JavaScript number.
        if (key === 'query_location') return 0
        // The parameters of a standalone expression are numbered from 1.
        return value?.class === 'PARAMETER'
          ? { ...value, identifier: String(named.push(value.identifier)) }
          : value
      })
      deserialize.bindVarchar(1, json)
      const [row] = await (await deserialize.run()).getRows()
      const text = String(row?.[0])
      const evaluate = await connection.prepare(
        `SELECT typeof(value), epoch_ms(CAST(value AS TIMESTAMP))::DOUBLE FROM (${text}) AS given(value)`,
      )
      for (const [place, name] of named.entries()) {
        const index = Number(name) - 1
        const parameter = parameters[index]
        if (parameter === undefined) return undefined
        await bindValue(evaluate, place + 1, parameter, index)
      }
      const [[type, ms] = []] = await (await evaluate.run()).getRows()
      const isTime = /^(DATE$|TIMESTAMP)/.test(String(type))
      // A string literal is converted to a time; with any other string, the query converts the time to a string.
      const isWritten = (expression as { class?: unknown }).class === 'CONSTANT'
      if (!(isTime || (type === 'VARCHAR' && isWritten)) || !Number.isFinite(ms)) return undefined
      const isMoving = String(type).endsWith('ZONE') || /now|current/i.test(text)
      // The start of the current month, for example, can change at any moment.
      if (isMoving && /date_trunc|time_floor|time_ceil/i.test(text)) return undefined
      values.push({ ms: Number(ms), slackMs: isMoving ? movingMs : roundingMs })
    }
    return values
  } catch {
    // The query itself reports what is wrong.
    return undefined
  }
}

/**
 * Runs a query, writes its result, and returns the number of rows. `onOpen` gets the connection, which can be
 * interrupted.
 */
export async function runQuery(
  order: QueryOrder,
  sink: AnswerSink,
  onOpen: (connection: DuckDBConnection) => void,
): Promise<number> {
  const files = [
    ...order.datasources.flatMap((relation) => relation.files.map(({ path }) => path)),
    ...order.systemTables.map(({ file }) => file),
  ]
  const database = await openLockedDatabase({
    directories: [],
    files,
    spillDirectory: order.spillDirectory,
    spillLimitBytes: order.spillLimitBytes,
    memoryLimitBytes: order.memoryLimitBytes,
    threads: order.threads,
    settings: ['errors_as_json = true'],
  })
  try {
    onOpen(database.connection)
    await defineTables(database, order)
    return await answer(database, order, sink)
  } catch (error) {
    throw error instanceof Failure ? error : failureOf(error, order)
  } finally {
    database.close()
  }
}

async function defineTables({ connection }: LockedDatabase, order: QueryOrder): Promise<void> {
  const schema = identifier(order.schema)
  for (const name of [schema, 'sys', identifier(informationSchemaName)]) {
    await connection.run(`CREATE SCHEMA ${name}`)
  }
  for (const relation of order.datasources) {
    await connection.run(`CREATE VIEW ${schema}.${identifier(relation.name)} AS ${relationSql(relation)}`)
  }
  for (const table of order.systemTables) await connection.run(systemTableSql(table))
  for (const macro of order.text.macros) await connection.run(macro)
  await connection.run(`USE ${schema}`)
}

// Files store times in milliseconds, but DuckDB reads them as TIMESTAMP (microseconds), the only type that it compares
// with times with a time zone.
const noTime = 'NULL::TIMESTAMP AS __time'

function relationSql({ files, columnsWithoutFiles, schemas = [], fileColumn }: DatasourceRelation): string {
  if (files.length === 0 && schemas.length === 0) {
    const names = [...columnsWithoutFiles, ...(fileColumn === undefined ? [] : [fileColumn])]
    const columns = names.map((name) => `NULL::VARCHAR AS ${identifier(name)}`)
    return `SELECT ${[noTime, ...columns].join(', ')} WHERE false`
  }
  const full = files.filter(({ where }) => where === undefined)
  const parts = [
    ...schemas.map((columns) => noRowsSql(columns, fileColumn)),
    ...(full.length > 0 ? [scanSql(full, fileColumn)] : []),
    ...files.flatMap((file) =>
      file.where === undefined ? [] : [`${scanSql([file], fileColumn)} WHERE ${file.where}`],
    ),
  ]
  return parts.map((part) => `(${part})`).join(' UNION ALL BY NAME ')
}

/** Returns SQL for columns with their types, without rows. */
function noRowsSql(columns: readonly SegmentColumn[], fileColumn: string | undefined): string {
  const typed = columns.map(({ name, type }) => `NULL::${storedTypes[type]} AS ${identifier(name)}`)
  const fileColumns = fileColumn === undefined ? [] : [`NULL::VARCHAR AS ${identifier(fileColumn)}`]
  return `SELECT ${[noTime, ...typed, ...fileColumns].join(', ')} WHERE false`
}

function scanSql(files: readonly RelationFile[], fileColumn: string | undefined): string {
  const paths = literalList(files.map(({ path }) => path))
  const fileNameOption = fileColumn === undefined ? '' : `, filename = ${literal(fileColumn)}`
  return `SELECT * FROM read_parquet(${paths}, union_by_name = true${fileNameOption})`
}

function systemTableSql({ schema, name, file, columns }: SystemRelation): string {
  const target = schema === 'information_schema' ? informationSchemaName : schema
  const types = Object.entries(columns).map(([column, type]) => `${literal(column)}: ${literal(type)}`)
  return `CREATE TABLE ${identifier(target)}.${identifier(name)} AS
    SELECT * FROM read_json(${literal(file)}, format = 'newline_delimited', columns = {${types.join(', ')}})`
}

async function answer({ connection }: LockedDatabase, order: QueryOrder, sink: AnswerSink): Promise<number> {
  const { createResultWriter } = await import('./result-writer.ts')
  const prepared = await connection.prepare(order.text.sql)
  await bind(prepared, order.parameters)
  const result = await prepared.stream()
  const names = result.deduplicatedColumnNames()
  const columns = names.map((name, index) => ({
    name: withWrittenNames(name),
    type: result.columnType(index),
  }))
  const writer = createResultWriter(order.style, columns)
  let rows = 0
  // The header is written with the first rows, so that a query that fails before them returns its failure.
  let text = writer.start()
  const { outerLimit = Number.POSITIVE_INFINITY } = order
  while (rows < outerLimit) {
    const chunk = await result.fetchChunk()
    if (!chunk || chunk.rowCount === 0) break
    const vectors = columns.map((_, index) => chunk.getColumnVector(index))
    const values: DuckDBValue[] = []
    for (let row = 0; row < chunk.rowCount && rows < outerLimit; row++) {
      rows += 1
      if (rows > order.maxRows) {
        throw tooLarge(
          `The result has more than [${order.maxRows}] rows, the limit set by [svc.query.maxRows]`,
        )
      }
      for (let index = 0; index < vectors.length; index++) {
        values[index] = vectors[index]?.getItem(row) as DuckDBValue
      }
      text += writer.row(values, rows === 1)
    }
    await sink(text)
    text = ''
  }
  await sink(text + writer.end())
  return rows
}

const integerTypes = new Set(['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT'])
const textTypes = new Set(['CHAR', 'VARCHAR'])
const maxExactInteger = Number.MAX_SAFE_INTEGER
const numberTypes = new Set(['DECIMAL', 'FLOAT', 'REAL', 'DOUBLE'])

async function bind(prepared: DuckDBPreparedStatement, parameters: readonly Parameter[]): Promise<void> {
  if (prepared.parameterCount !== parameters.length) {
    throw invalidInput(
      `The query has [${prepared.parameterCount}] parameters, but [parameters] has [${parameters.length}] values: expected one value for each parameter`,
    )
  }
  for (const [index, parameter] of parameters.entries()) {
    await bindValue(prepared, index + 1, parameter, index)
  }
}

/** Binds the value of `parameters[index]` to a position of a statement, from 1. */
async function bindValue(
  prepared: DuckDBPreparedStatement,
  place: number,
  { type, value }: Parameter,
  index: number,
): Promise<void> {
  const { DuckDBDateValue, DuckDBTimestampValue } = await import('@duckdb/node-api')
  const kind = type.toUpperCase()
  const refuse = (allowed: string) =>
    invalidInput(`Invalid value [${value}] for [parameters[${index}].value]: expected ${allowed}`)
  if (
    (integerTypes.has(kind) || textTypes.has(kind)) &&
    Number.isInteger(value) &&
    !Number.isSafeInteger(value)
  )
    throw refuse(
      `a number from [-${maxExactInteger}] to [${maxExactInteger}], or a string to preserve all digits`,
    )
  if (value === null) prepared.bindNull(place)
  else if (textTypes.has(kind)) prepared.bindVarchar(place, String(value))
  else if (kind === 'BOOLEAN') prepared.bindBoolean(place, value === true || value === 'true')
  else if (integerTypes.has(kind)) {
    if (!/^-?\d{1,19}$/.test(String(value))) throw refuse(`an integer for type [${type}]`)
    const number = BigInt(String(value))
    if (BigInt.asIntN(64, number) !== number) throw refuse('a 64-bit integer')
    prepared.bindBigInt(place, number)
  } else if (numberTypes.has(kind)) {
    const number = Number(value)
    if (value === '' || !Number.isFinite(number)) throw refuse(`a number for type [${type}]`)
    prepared.bindDouble(place, number)
  } else {
    const ms = typeof value === 'number' ? value : Date.parse(withZone(String(value)))
    if (!Number.isFinite(ms)) throw refuse('an ISO 8601 time or milliseconds since 1970')
    if (kind === 'DATE') prepared.bindDate(place, new DuckDBDateValue(Math.floor(ms / 86_400_000)))
    else prepared.bindTimestamp(place, new DuckDBTimestampValue(BigInt(Math.round(ms)) * 1000n))
  }
}

/** Returns a time with its time zone; UTC if it has none. */
const withZone = (text: string): string =>
  /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text) ? `${text.replace(' ', 'T')}Z` : text

const maxMessageLength = 1000

/** Converts an error of DuckDB to a Failure with line and column that reveals nothing about the server. */
function failureOf(error: unknown, order: QueryOrder): Failure {
  const thrown = error instanceof Error ? error.message : String(error)
  const { exception_type: type = '', exception_message: message = thrown, position } = readError(thrown)
  const paths = [
    ...order.datasources.flatMap(({ files }) => files.map(({ path }) => path)),
    order.spillDirectory,
  ]
  const shownMessage = withoutPaths(message, paths).slice(0, maxMessageLength)
  if (/no space left|max_temp_directory_size|temporary directory/i.test(message)) {
    return tooLarge(
      `The query needs more disk space than is available, or more than the [${order.spillLimitBytes}] bytes that [svc.query.maxSpillSize] allows`,
      {},
      error,
    )
  }
  if (type === 'Out of Memory') {
    return tooLarge(
      `The query needs more memory than the [${order.memoryLimitBytes}] bytes that [svc.query.memoryLimit] allows`,
      {},
      error,
    )
  }
  if (type === 'Interrupt' || /^INTERRUPT/.test(thrown))
    return unavailable('The query was canceled', {}, error)
  if (type === 'IO' || type === 'Serialization') {
    return unavailable(
      'Failed to read a segment; retrying the query may succeed',
      { reason: 'segment' },
      error,
    )
  }
  if (type === 'INTERNAL' || type === 'Fatal') {
    return new Failure('internalServerError', `The query failed: ${shownMessage}`, {}, error)
  }
  const place = position === undefined ? undefined : placeBefore(order.text.shifts, Number(position))
  return queryFailure(order.written, place, shownMessage)
}

interface DuckDbError {
  readonly exception_type?: string
  readonly exception_message?: string
  readonly position?: string
}

function readError(text: string): DuckDbError {
  try {
    return JSON.parse(text) as DuckDbError
  } catch {
    return {}
  }
}

function withoutPaths(message: string, paths: readonly string[]): string {
  let shortened = message
  for (const path of paths) shortened = shortened.replaceAll(path, 'a segment')
  return (
    withWrittenNames(shortened)
      // DuckDB's suggestions can name its own tables and functions that we do not support.
      .replace(/\n?(Did you mean|Candidate tables|Candidate functions)[\s\S]*$/, '')
      .replace(/\s*\n\s*/g, ' ')
      .replaceAll(informationSchemaName, 'INFORMATION_SCHEMA')
      .trim()
  )
}
