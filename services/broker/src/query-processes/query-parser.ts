import { tooLarge } from '@svc/domain/failure'
import { timesOf } from '@svc/domain/querying'
import { type LockedDatabase, openLockedDatabase } from '@svc/shared/duckdb'
import {
  checkRewritten,
  type Parameter,
  readStatement,
  SqlText,
  type Statement,
  type TimeValue,
  withValues,
} from '../sql/index.ts'
import { bindParameter } from './bind-parameters.ts'
import type { QueryText } from './query-protocol.ts'

const memoryBytes = 64 * 2 ** 20

/**
 * Parses queries with DuckDB's parser, in a database without data. Opening it takes longer than parsing, so it is kept for the
 * next query, unless a query changed it or failed.
 */
export class QueryParser {
  private readonly spillDirectory: string
  /** An open database that no query uses. */
  private kept: LockedDatabase | undefined

  constructor(spillDirectory: string) {
    this.spillDirectory = spillDirectory
  }

  /** Parses and validates a query with its parameters. Rejects with an invalidInput Failure if it is invalid. */
  async parse(query: QueryText): Promise<Statement> {
    const { kept } = this
    this.kept = undefined
    const database = kept ?? (await this.open())
    try {
      const { statement, hasChanged } = await parseQuery(database, query)
      if (!hasChanged) this.kept ??= database
      return statement
    } finally {
      if (this.kept !== database) database.close()
    }
  }

  private open(): Promise<LockedDatabase> {
    return openLockedDatabase({
      directories: [],
      files: [],
      spillDirectory: this.spillDirectory,
      memoryLimitBytes: memoryBytes,
      threads: 1,
    })
  }
}

interface ParsedQuery {
  readonly statement: Statement
  /** Whether macros were created in the database to evaluate expressions. */
  readonly hasChanged: boolean
}

async function parseQuery(database: LockedDatabase, query: QueryText): Promise<ParsedQuery> {
  const { sql, parameters, schema } = query
  const readable = new SqlText(sql).readable()
  const parsed = await parseText(database, readable)
  const { tables, text, expressions, meant } = readStatement(readable, parsed, schema, parameters)
  if (text.sql !== readable) checkRewritten(meant, await parseText(database, text.sql))
  const values = await timeValues(database, expressions, parameters, text.macros)
  const statement = {
    text,
    tables: tables.map(({ condition, ...table }) => ({
      ...table,
      times: condition && values && timesOf(withValues(condition, values)),
    })),
  }
  return { statement, hasChanged: expressions.length > 0 && text.macros.length > 0 }
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
      `The query is too complex: parsing it needs more than [${memoryBytes}] bytes of memory. Use fewer values or clauses.`,
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
        await bindParameter(evaluate, place + 1, parameter, index)
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
