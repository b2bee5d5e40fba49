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
} from '../duckdb/index.ts'
import type { Parameter } from './parameter.ts'
import { queryFailure } from './query-failure.ts'
import type {
  DatasourceRelation,
  QueryOrder,
  QueryText,
  RelationFile,
  SystemRelation,
} from './query-protocol.ts'
import { checkRewritten, informationSchemaName, readStatement, type Statement } from './read-statement.ts'
import { placeBefore, SqlText, withWrittenNames } from './sql-functions/index.ts'
import { type TimeValue, withValues } from './time-conditions.ts'

/** Where the bytes of an answer go; resolves when more may come. */
export type AnswerSink = (text: string) => Promise<void>

const parserMemoryBytes = 64 * 2 ** 20

/** Reads what a query with its values is about with DuckDB's own parser, in a database without any data. */
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

/** The query as DuckDB's parser writes it in JSON. */
async function parseText({ connection }: LockedDatabase, sql: string): Promise<string> {
  const prepared = await connection.prepare('SELECT json_serialize_sql($1::VARCHAR)')
  prepared.bindVarchar(1, sql)
  try {
    const [row] = await (await prepared.run()).getRows()
    return row?.[0] as string
  } catch (error) {
    if (!/^Out of Memory/.test((error as Error).message)) throw error
    throw tooLarge(
      `The query has more parts than can be read in [${parserMemoryBytes}] bytes of memory; expected one with fewer values and clauses`,
      {},
      error,
    )
  }
}

// What times are compared with may be finer than a millisecond, and is rounded in more than one way.
const roundingMs = 1
// The time of now goes on between this look and the query, and there are zones.
const movingMs = 86_400_000

/** What expressions come to as times; undefined where one of them comes to none. */
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
        // Places are left out: no number of JavaScript holds the one that stands for none.
        if (key === 'query_location') return 0
        // Alone, an expression has parameters that count from 1.
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
      // A text that was written as one is taken for a time; any other would make a text of the time.
      const isWritten = (expression as { class?: unknown }).class === 'CONSTANT'
      if (!(isTime || (type === 'VARCHAR' && isWritten)) || !Number.isFinite(ms)) return undefined
      const isMoving = String(type).endsWith('ZONE') || /now|current/i.test(text)
      // The beginning of a month may be another one a moment later.
      if (isMoving && /date_trunc|time_floor|time_ceil/i.test(text)) return undefined
      values.push({ ms: Number(ms), slackMs: isMoving ? movingMs : roundingMs })
    }
    return values
  } catch {
    // Whatever is wrong with them, the query tells.
    return undefined
  }
}

/** Runs a query and writes its answer; `onOpen` gets the connection, which can be interrupted. Answers with the number of rows. */
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

// The times of files are milliseconds, which DuckDB reads as its own finer ones; it compares only these with times that
// have a zone.
const noTime = 'NULL::TIMESTAMP AS __time'

function relationSql({ files, columnsWithoutFiles, schemas = [], fileColumn }: DatasourceRelation): string {
  if (files.length === 0 && schemas.length === 0) {
    const names = [...columnsWithoutFiles, ...(fileColumn === undefined ? [] : [fileColumn])]
    const columns = names.map((name) => `NULL::VARCHAR AS ${identifier(name)}`)
    return `SELECT ${[noTime, ...columns].join(', ')} WHERE false`
  }
  const whole = files.filter(({ where }) => where === undefined)
  const parts = [
    ...schemas.map((columns) => noRowsSql(columns, fileColumn)),
    ...(whole.length > 0 ? [scanSql(whole, fileColumn)] : []),
    ...files.flatMap((file) =>
      file.where === undefined ? [] : [`${scanSql([file], fileColumn)} WHERE ${file.where}`],
    ),
  ]
  return parts.map((part) => `(${part})`).join(' UNION ALL BY NAME ')
}

/** Columns with their types, without a row. */
function noRowsSql(columns: readonly SegmentColumn[], fileColumn: string | undefined): string {
  const typed = columns.map(({ name, type }) => `NULL::${storedTypes[type]} AS ${identifier(name)}`)
  const told = fileColumn === undefined ? [] : [`NULL::VARCHAR AS ${identifier(fileColumn)}`]
  return `SELECT ${[noTime, ...typed, ...told].join(', ')} WHERE false`
}

function scanSql(files: readonly RelationFile[], fileColumn: string | undefined): string {
  const paths = literalList(files.map(({ path }) => path))
  const told = fileColumn === undefined ? '' : `, filename = ${literal(fileColumn)}`
  return `SELECT * FROM read_parquet(${paths}, union_by_name = true${told})`
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
  // The head goes out with the first rows: a query that fails before them is answered with its failure.
  let text = writer.start()
  const { outerLimit = Number.POSITIVE_INFINITY } = order
  while (rows < outerLimit) {
    const chunk = await result.fetchChunk()
    if (!chunk || chunk.rowCount === 0) break
    const vectors = columns.map((_, index) => chunk.getColumnVector(index))
    const values: DuckDBValue[] = []
    for (let row = 0; row < chunk.rowCount && rows < outerLimit; row++) {
      rows += 1
      if (rows > order.mostRows) {
        throw tooLarge(
          `The answer has more than the [${order.mostRows}] rows that [svc.query.maxRows] allows`,
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
const mostExact = Number.MAX_SAFE_INTEGER
const numberTypes = new Set(['DECIMAL', 'FLOAT', 'REAL', 'DOUBLE'])

async function bind(prepared: DuckDBPreparedStatement, parameters: readonly Parameter[]): Promise<void> {
  if (prepared.parameterCount !== parameters.length) {
    throw invalidInput(
      `The query has [${prepared.parameterCount}] parameters and [parameters] has [${parameters.length}] values; expected one for each`,
    )
  }
  for (const [index, parameter] of parameters.entries()) {
    await bindValue(prepared, index + 1, parameter, index)
  }
}

/** Binds the value of `parameters[index]` to a place of a statement, which count from 1. */
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
    throw refuse(`a number from [-${mostExact}] to [${mostExact}], or a text, which keeps all digits`)
  if (value === null) prepared.bindNull(place)
  else if (textTypes.has(kind)) prepared.bindVarchar(place, String(value))
  else if (kind === 'BOOLEAN') prepared.bindBoolean(place, value === true || value === 'true')
  else if (integerTypes.has(kind)) {
    if (!/^-?\d{1,19}$/.test(String(value))) throw refuse(`a whole number for type [${type}]`)
    const number = BigInt(String(value))
    if (BigInt.asIntN(64, number) !== number) throw refuse('a whole number of 64 bits')
    prepared.bindBigInt(place, number)
  } else if (numberTypes.has(kind)) {
    const number = Number(value)
    if (value === '' || !Number.isFinite(number)) throw refuse(`a number for type [${type}]`)
    prepared.bindDouble(place, number)
  } else {
    const ms = typeof value === 'number' ? value : Date.parse(withZone(String(value)))
    if (!Number.isFinite(ms)) throw refuse('an ISO 8601 time, or milliseconds since 1970')
    if (kind === 'DATE') prepared.bindDate(place, new DuckDBDateValue(Math.floor(ms / 86_400_000)))
    else prepared.bindTimestamp(place, new DuckDBTimestampValue(BigInt(Math.round(ms)) * 1000n))
  }
}

/** A time without a zone is one of UTC. */
const withZone = (text: string): string =>
  /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text) ? `${text.replace(' ', 'T')}Z` : text

const longestTold = 1000

/** What DuckDB refused, with line and column, and without anything that is the server's. */
function failureOf(error: unknown, order: QueryOrder): Failure {
  const thrown = error instanceof Error ? error.message : String(error)
  const { exception_type: type = '', exception_message: message = thrown, position } = readError(thrown)
  const paths = [
    ...order.datasources.flatMap(({ files }) => files.map(({ path }) => path)),
    order.spillDirectory,
  ]
  const told = withoutPaths(message, paths).slice(0, longestTold)
  if (/no space left|max_temp_directory_size|temporary directory/i.test(message)) {
    return tooLarge(
      `The query needs more room on disk than the [${order.spillLimitBytes}] bytes of [svc.query.maxSpillSize], or than there is`,
      {},
      error,
    )
  }
  if (type === 'Out of Memory') {
    return tooLarge(
      `The query needs more memory than the [${order.memoryLimitBytes}] bytes of [svc.query.memoryLimit]`,
      {},
      error,
    )
  }
  if (type === 'Interrupt' || /^INTERRUPT/.test(thrown))
    return unavailable('The query was given up', {}, error)
  if (type === 'IO' || type === 'Serialization') {
    return unavailable(
      'A segment cannot be read; the query may succeed when it is sent again',
      { reason: 'segment' },
      error,
    )
  }
  if (type === 'INTERNAL' || type === 'Fatal') {
    return new Failure('internalServerError', `The query cannot be answered: ${told}`, {}, error)
  }
  const place = position === undefined ? undefined : placeBefore(order.text.shifts, Number(position))
  return queryFailure(order.written, place, told)
}

interface ToldError {
  readonly exception_type?: string
  readonly exception_message?: string
  readonly position?: string
}

function readError(text: string): ToldError {
  try {
    return JSON.parse(text) as ToldError
  } catch {
    return {}
  }
}

function withoutPaths(message: string, paths: readonly string[]): string {
  let told = message
  for (const path of paths) told = told.replaceAll(path, 'a segment')
  return (
    withWrittenNames(told)
      // Names that DuckDB proposes may be of its own tables, and functions are offered by our list.
      .replace(/\n?(Did you mean|Candidate tables|Candidate functions)[\s\S]*$/, '')
      .replace(/\s*\n\s*/g, ' ')
      .replaceAll(informationSchemaName, 'INFORMATION_SCHEMA')
      .trim()
  )
}
