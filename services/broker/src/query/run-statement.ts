import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Failure, forbidden, timedOut } from '@svc/domain/failure'
import { type Interval, joinIntervals } from '@svc/domain/time'
import type { Settings } from '@svc/shared/config'
import { identifier } from '@svc/shared/duckdb'
import { assertAccess, type Caller } from '@svc/shared/security'
import type {
  AnswerStyle,
  DatasourceRelation,
  QueryOrder,
  QueryOwner,
  QueryProcesses,
  QuerySession,
  QueryText,
  SystemRelation,
} from '../query-processes/index.ts'
import { queryFailure, type Statement, type TableReference } from '../sql/index.ts'
import { explain, withoutExplain } from './explain.ts'
import { ownText } from './own-text.ts'
import { holdNewest, type PreparedTables, prepareTables, type TableSources } from './prepare-tables.ts'
import { assertMaxDatasources } from './request-limits.ts'
import { rowsOf } from './rows-of.ts'
import { type DescribedColumn, findSystemTable, type SystemTable } from './system-tables.ts'

/** Everything that runs queries. */
export interface QueryEngine {
  readonly sources: TableSources
  readonly processes: QueryProcesses
  /** Contains a folder with working files for each query. */
  readonly workDirectory: string
  /** Cancels all queries when the server stops. The reason is the failure that callers get. */
  readonly ending: AbortSignal
}

/** A query submitted by a caller. */
export interface CallerQuery extends QueryText {
  readonly style: AnswerStyle
  readonly fromDeepStorage: boolean
  /** Maximum number of rows; the rest is left out. */
  readonly outerLimit: number | undefined
  readonly caller: Caller
  readonly signal: AbortSignal
  /** Called with the datasources that the query reads, once they are known and the caller's permissions are checked. */
  onRead(dataSources: readonly string[]): void
}

/** Runs `work`. Throws timedOut after the timeout, or the abort reason of a signal. */
export async function withinTime<T>(
  timeoutMs: number,
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const failure = timedOut(`The query exceeded its timeout of [${timeoutMs}] ms`)
  const timer = setTimeout(() => late.abort(failure), timeoutMs)
  const any = AbortSignal.any([...signals, late.signal])
  try {
    return await work(any)
  } catch (error) {
    throw any.reason instanceof Failure ? any.reason : error
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Runs a query. `onBegin` is called before the first byte of the result with the number of used segments of each
 * datasource that no server has loaded. It returns the stream for the result.
 */
export async function runStatement(
  engine: QueryEngine,
  given: CallerQuery,
  onBegin: (notLoaded: Readonly<Record<string, number>>) => Writable,
): Promise<void> {
  await withSession(engine, given, async (session, folder) => {
    const query = { ...given, signal: session.signal }
    const explained = withoutExplain(query.sql)
    const { tables, text: statement } = await session.read({
      sql: explained ?? query.sql,
      parameters: query.parameters,
      schema: query.schema,
    })
    const datasources = await datasourcesOf(query, tables)
    query.onRead([...datasources.keys()])
    const system = systemTablesOf(query, tables)
    const prepared = await prepareTables(engine.sources, [...datasources.keys()], {
      fromDeepStorage: query.fromDeepStorage,
      signal: query.signal,
      timesOf: (name) => timesOf(name, tables),
      onUnknown: (name) => queryFailure(query.sql, datasources.get(name), `Table [${name}] does not exist`),
    })
    try {
      const systemTables = await writeSystemTables(engine, query, session, folder, system)
      const order: QueryOrder = {
        schema: query.schema,
        written: query.sql,
        text: statement,
        parameters: query.parameters,
        datasources: prepared.tables.map(({ relation }) => relation),
        systemTables,
        style: query.style,
        // The plan of a query is a single row and is never limited.
        outerLimit: explained === undefined ? query.outerLimit : undefined,
        ...limitsOf(engine.sources.context.settings, folder),
      }
      const run =
        explained === undefined ? order : await explain(session, order, explained, [...datasources.keys()])
      await session.run(run, () => onBegin(notLoadedOf(prepared)))
    } finally {
      prepared.release()
    }
  })
}

/** Returns the resource limits of a query. */
export function limitsOf(settings: Settings, spillDirectory: string) {
  return {
    spillDirectory,
    spillLimitBytes: settings.get('svc.query.maxSpillSize'),
    memoryLimitBytes: settings.get('svc.query.memoryLimit'),
    threads: settings.get('svc.query.threads'),
    maxRows: settings.get('svc.query.maxRows'),
  }
}

// Callers without read permissions cannot query any rows, so their queries should be fast.
const maxRunMsWithoutPermission = 1000

/** Returns whether a caller has READ on STATE or any datasource. */
const mayReadAny = (caller: Caller): boolean =>
  caller.hasAny('READ', 'DATASOURCE') || caller.hasAny('READ', 'STATE')

/** Returns the owner of a query, for scheduling. */
function ownerOf(caller: Caller, settings: Settings): QueryOwner {
  return {
    caller: JSON.stringify([caller.authenticator, caller.identity]),
    weight: settings.get('svc.query.callerWeights').get(caller.identity) ?? 1,
    maxRunMs: mayReadAny(caller) ? undefined : maxRunMsWithoutPermission,
  }
}

/**
 * Runs `work` with its own process and folder, and releases both afterward. `work` must end when the signal of its
 * session is aborted.
 */
export async function withSession<T>(
  { processes, workDirectory, sources }: QueryEngine,
  { caller, signal }: Pick<CallerQuery, 'caller' | 'signal'>,
  work: (session: QuerySession, folder: string) => Promise<T>,
): Promise<T> {
  const session = await processes.acquire(ownerOf(caller, sources.context.settings), signal)
  const folder = path.join(workDirectory, randomUUID())
  try {
    await mkdir(folder, { recursive: true })
    return await work(session, folder)
  } catch (error) {
    const { reason } = session.signal
    throw reason instanceof Failure ? reason : error
  } finally {
    session.release()
    await rm(folder, { recursive: true, force: true }).catch(() => undefined)
  }
}

export function notLoadedOf({ tables }: PreparedTables): Record<string, number> {
  return Object.fromEntries(
    tables
      .filter(({ plan }) => plan.notLoaded > 0)
      .map(({ dataSource, plan }) => [dataSource, plan.notLoaded]),
  )
}

/** Returns the datasources of a query, with the offset of the first mention of each. */
async function datasourcesOf({ caller, sql }: CallerQuery, tables: readonly TableReference[]) {
  const places = new Map<string, number | undefined>()
  const written = new Map<string, string>()
  for (const { schema, name, offset } of tables) {
    if (schema === 'sys' || schema === 'information_schema') continue
    await assertAccess(caller, name)
    const other = written.get(name.toLowerCase()) ?? name
    if (other !== name) {
      throw queryFailure(
        sql,
        offset,
        `Datasources [${other}] and [${name}] differ only in case: expected only one of them in a query`,
      )
    }
    written.set(name.toLowerCase(), name)
    assertMaxDatasources(written.size)
    if (!places.has(name)) places.set(name, offset)
  }
  return places
}

/** Returns the time ranges that the query reads from a datasource. Returns undefined if a mention reads all of time. */
function timesOf(dataSource: string, tables: Statement['tables']): readonly Interval[] | undefined {
  const times: Interval[] = []
  for (const table of tables) {
    if (table.name !== dataSource || (table.schema !== '' && table.schema !== 'svc')) continue
    if (table.times === undefined) return undefined
    times.push(...table.times)
  }
  return joinIntervals(times)
}

function systemTablesOf(
  { caller, sql }: CallerQuery,
  tables: readonly TableReference[],
): ReadonlySet<SystemTable> {
  const found = new Set<SystemTable>()
  for (const { schema, name, offset } of tables) {
    if (schema !== 'sys' && schema !== 'information_schema') continue
    const shown = schema === 'sys' ? 'sys' : 'INFORMATION_SCHEMA'
    if (!mayReadAny(caller)) {
      throw forbidden(
        `Missing permission for [${shown}.${name}]: expected [READ] on [STATE] or on at least one datasource`,
      )
    }
    const table = findSystemTable(schema, name)
    if (!table) {
      throw queryFailure(sql, offset, `Table [${shown}.${name}] does not exist`)
    }
    found.add(table)
  }
  return found
}

async function writeSystemTables(
  engine: QueryEngine,
  { caller, signal, schema: word }: CallerQuery,
  session: QuerySession,
  folder: string,
  tables: ReadonlySet<SystemTable>,
): Promise<SystemRelation[]> {
  const written: SystemRelation[] = []
  for (const table of tables) {
    const { schema, name, columns } = table
    const file = path.join(folder, `${schema}.${name}.json`)
    const rows = await table.rows({
      sources: engine.sources,
      caller,
      signal,
      word,
      columnsOf: (dataSources) => describeColumns(engine, session, folder, dataSources, signal),
    })
    async function* lines() {
      for await (const row of rows) yield `${JSON.stringify(row)}\n`
    }
    await pipeline(Readable.from(lines()), createWriteStream(file), { signal })
    written.push({ schema, name, columns, file })
  }
  return written
}

/** Returns the columns of datasources, read from the newest files of each. Datasources without a file are left out. */
async function describeColumns(
  engine: QueryEngine,
  session: QuerySession,
  folder: string,
  dataSources: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly DescribedColumn[]>> {
  const described = new Map<string, readonly DescribedColumn[]>()
  await engine.sources.view.catchUp()
  for (const dataSource of dataSources) {
    const newest = await holdNewest(engine.sources, dataSource, signal).catch((error: unknown) => {
      // The servers of this datasource are unavailable; the others can still be described.
      if (error instanceof Failure && error.code === 'unavailable') return undefined
      throw error
    })
    if (!newest) continue
    try {
      const rows = await queryRows(engine, session, folder, {
        sql: `SELECT column_name AS name, column_type AS type FROM (DESCRIBE svc.${identifier(dataSource)})`,
        datasources: [newest.relation],
      })
      described.set(
        dataSource,
        rows.map(({ name, type }) => ({ name: String(name), type: String(type) })),
      )
    } finally {
      newest.release()
    }
  }
  return described
}

/** Runs an internal query and returns all its rows. */
export function queryRows(
  { sources }: QueryEngine,
  session: QuerySession,
  folder: string,
  query: {
    readonly sql: string
    readonly datasources: readonly DatasourceRelation[]
  },
): Promise<Record<string, unknown>[]> {
  return rowsOf(session, {
    schema: 'svc',
    ...ownText(query.sql),
    parameters: [],
    datasources: query.datasources,
    systemTables: [],
    ...limitsOf(sources.context.settings, folder),
  })
}
