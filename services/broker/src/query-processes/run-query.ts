import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api'
import { Failure, tooLarge, unavailable } from '@svc/domain/failure'
import type { SegmentColumn } from '@svc/domain/segment'
import {
  identifier,
  type LockedDatabase,
  literal,
  literalList,
  openLockedDatabase,
  storedTypes,
} from '@svc/shared/duckdb'
import { informationSchemaName, placeBefore, queryFailure, withWrittenNames } from '../sql/index.ts'
import { bindParameters } from './bind-parameters.ts'
import type { DatasourceRelation, QueryOrder, RelationFile, SystemRelation } from './query-protocol.ts'

/** Writes a part of a result; resolves when it can take more. */
export type AnswerSink = (text: string) => Promise<void>

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
  await bindParameters(prepared, order.parameters)
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
