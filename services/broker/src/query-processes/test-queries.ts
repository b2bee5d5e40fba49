import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { invalidInput } from '@svc/domain/failure'
import type { Interval } from '@svc/domain/time'
import { literal, openLockedDatabase } from '@svc/shared/duckdb'
import type { Parameter } from '../sql/index.ts'
import { createQueryProcesses } from './query-processes.ts'
import type { AnswerStyle, DatasourceRelation, QueryOrder } from './query-protocol.ts'
import type { QueryOwner } from './query-scheduler.ts'

/** Returns an owner with a weight of 1. */
export const ownerOf = (caller: string): QueryOwner => ({ caller, weight: 1 })

/** Creates a folder with data and a secret file next to it, and processes to query the data. */
export async function openTestQueries(limits: Partial<QueryOrder> = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-query-'))
  const spillDirectory = path.join(folder, 'spill')
  mkdirSync(spillDirectory)
  writeFileSync(path.join(folder, 'secret.csv'), 'secret\n1\n')
  const memoryLimitBytes = 128 * 2 ** 20
  const processes = createQueryProcesses({
    maxRunning: 2,
    maxQueued: 1,
    maxQueuedPerCaller: 1,
    memoryLimitBytes,
    maxRunMsPerCaller: 600_000,
    spillDirectory,
  })
  const file = (name: string) => path.join(folder, name)

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

  /** Runs a query as the broker does. `unread` skips the validation. */
  async function query(
    sql: string,
    given: {
      readonly files?: readonly string[]
      readonly schemas?: DatasourceRelation['schemas']
      readonly parameters?: readonly Parameter[]
      readonly style?: Partial<AnswerStyle>
      readonly signal?: AbortSignal
      readonly unread?: boolean
      readonly schema?: string
      readonly outerLimit?: number
      readonly onBegin?: () => void
    } = {},
  ): Promise<string> {
    const { schema = 'svc' } = given
    const session = await processes.acquire(ownerOf('ann'), given.signal ?? AbortSignal.timeout(60_000))
    try {
      const statement = given.unread
        ? { text: { sql, shifts: [], macros: [] }, tables: [] }
        : await session.read({ sql, parameters: given.parameters ?? [], schema })
      const other = statement.tables.find(({ name }) => name !== 'wiki')
      if (other) throw invalidInput(`Table [${other.name}] does not exist`)
      const answer = new PassThrough()
      const received = text(answer)
      await session.run(
        {
          schema,
          written: sql,
          text: statement.text,
          parameters: given.parameters ?? [],
          datasources: [
            {
              name: 'wiki',
              files: (given.files ?? []).map((name) => ({ path: file(name) })),
              columnsWithoutFiles: ['page'],
              schemas: given.schemas,
            },
          ],
          systemTables: [],
          style: {
            format: 'array',
            header: false,
            typesHeader: false,
            sqlTypesHeader: false,
            ...given.style,
          },
          spillDirectory,
          spillLimitBytes: 2 ** 30,
          memoryLimitBytes,
          threads: 2,
          maxRows: 1_000_000,
          outerLimit: given.outerLimit,
          ...limits,
        },
        () => {
          given.onBegin?.()
          return answer
        },
      )
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
    const session = await processes.acquire(ownerOf('ann'), AbortSignal.timeout(60_000))
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
