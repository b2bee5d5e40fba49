import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after } from 'node:test'
import { invalidInput } from '@svc/domain/failure'
import type { Interval } from '@svc/domain/time'
import { literal, openLockedDatabase } from '@svc/shared/duckdb'
import type { Parameter, RunText, Statement } from '../sql/index.ts'
import type { QueryOwner } from './active-queries.ts'
import { createQueryProcesses, type QuerySession } from './query-processes.ts'
import type { AnswerStyle, DatasourceRelation, QueryOrder } from './query-protocol.ts'

/** Returns an owner with a weight of 1. */
export const ownerOf = (caller: string): QueryOwner => ({ caller, weight: 1 })

const memoryLimitBytes = 128 * 2 ** 20
// Other tests may slow down a canceled query.
const maxCancelMs = 30_000

/** A query of a test. */
interface TestQuery {
  readonly files?: readonly string[]
  readonly schemas?: DatasourceRelation['schemas']
  readonly parameters?: readonly Parameter[]
  readonly style?: Partial<AnswerStyle>
  readonly signal?: AbortSignal
  /** Skips the validation. */
  readonly unread?: boolean
  readonly schema?: string
  readonly outerLimit?: number
  readonly onBegin?: () => void
}

/** Creates a folder with data and a secret file next to it, and processes to query the data, until the tests of the file end. */
export async function openTestQueries(limits: Partial<QueryOrder> = {}) {
  const { folder, spillDirectory } = createFolders()
  const processes = createQueryProcesses({
    maxRunning: 2,
    maxQueued: 1,
    maxQueuedPerCaller: 1,
    memoryLimitBytes,
    maxRunMsPerCaller: 600_000,
    maxCancelMs,
    spillDirectory,
  })
  after(async () => {
    await processes.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const file = (name: string) => path.join(folder, name)
  const acquire = (signal?: AbortSignal) =>
    processes.acquire(ownerOf('ann'), signal ?? AbortSignal.timeout(60_000))

  async function writeParquet(name: string, sql: string): Promise<string> {
    const database = await openLockedDatabase({
      directories: [folder],
      files: [],
      spillDirectory,
      memoryLimitBytes,
      threads: 1,
    })
    try {
      await database.connection.run(`COPY (${sql}) TO ${literal(file(name))} (FORMAT parquet)`)
    } finally {
      database.close()
    }
    return file(name)
  }

  /** Runs a query as the broker does. */
  async function query(sql: string, given: TestQuery = {}): Promise<string> {
    const session = await acquire(given.signal)
    try {
      const statement = await readTestQuery(session, sql, given)
      const files = (given.files ?? []).map(file)
      const answer = new PassThrough()
      const received = text(answer)
      await session.run({ ...orderOf(sql, statement.text, given, files), spillDirectory, ...limits }, () => {
        given.onBegin?.()
        return answer
      })
      answer.end()
      return await received
    } finally {
      session.release()
    }
  }

  /** Returns the times that a query reads from its table, over all references to it. */
  async function timesOf(
    sql: string,
    parameters: readonly Parameter[] = [],
  ): Promise<readonly Interval[] | undefined> {
    const session = await acquire()
    try {
      const { tables } = await session.read({ sql, parameters, schema: 'svc' })
      const all = tables.map(({ times }) => times)
      return all.includes(undefined) ? undefined : all.flatMap((times) => times ?? [])
    } finally {
      session.release()
    }
  }
  return { folder, processes, writeParquet, query, file, timesOf }
}

function createFolders() {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-query-'))
  const spillDirectory = path.join(folder, 'spill')
  mkdirSync(spillDirectory)
  writeFileSync(path.join(folder, 'secret.csv'), 'secret\n1\n')
  return { folder, spillDirectory }
}

/** Validates a query that may only read the table `wiki`. */
async function readTestQuery(
  session: QuerySession,
  sql: string,
  { unread, parameters = [], schema = 'svc' }: TestQuery,
): Promise<Statement> {
  if (unread) return { text: { sql, shifts: [], macros: [] }, tables: [] }
  const statement = await session.read({ sql, parameters, schema })
  const other = statement.tables.find(({ name }) => name !== 'wiki')
  if (other) throw invalidInput(`Table [${other.name}] does not exist`)
  return statement
}

const orderOf = (
  sql: string,
  runText: RunText,
  { parameters = [], schema = 'svc', schemas, style, outerLimit }: TestQuery,
  files: readonly string[],
): Omit<QueryOrder, 'spillDirectory'> => ({
  schema,
  written: sql,
  text: runText,
  parameters,
  datasources: [
    { name: 'wiki', files: files.map((path) => ({ path })), columnsWithoutFiles: ['page'], schemas },
  ],
  systemTables: [],
  style: { format: 'array', header: false, typesHeader: false, sqlTypesHeader: false, ...style },
  spillLimitBytes: 2 ** 30,
  memoryLimitBytes,
  threads: 2,
  maxRows: 1_000_000,
  outerLimit,
})
