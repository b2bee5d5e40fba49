import type { Answer, SentRequest } from '@svc/shared/testing'
import { credentialsOf } from '../support/test-users.ts'
import type { CountedRows } from './history.ts'
import { dataSources, intervalOf, type Login, type Work } from './schedule.ts'

const coordinator = '/svc/coordinator/v1'
const authorization = '/svc-ext/basic-security/authorization/db/MyBasicMetadataAuthorizer'

/**
 * The user whose permission is granted and revoked, the one who always has it (to read the stable datasource
 * and the state of servers), and one without permissions.
 */
export const users = { changing: 'changing', reader: 'reader', stranger: 'stranger' } as const

/** The statement that counts rows by task and day. */
export const countRows = (dataSource: string): string =>
  `SELECT task, strftime(__time, '%Y-%m-%d') AS d, count(*) FROM "${dataSource}" GROUP BY 1, 2 ORDER BY 1, 2`

/** Returns the rows of an answer to this statement. */
export const readCounts = (json: unknown): CountedRows[] =>
  (json as [string, string, number][]).map(([task, day, rows]) => ({ task, day, rows }))

/** The rules of a piece of work; defaults for the rest. */
export function readRules(json: unknown): Record<string, unknown>[] {
  return (json as Record<string, unknown>[]).map(({ useDefaultTierForNull: _, ...rule }) => rule)
}

/** Returns the content of an answer, where the check needs it. */
export function responseOf(work: Work, { json }: Pick<Answer, 'json'>): unknown {
  if (work.kind === 'readRules') return readRules(json)
  if (work.kind === 'query') return readCounts(json)
  if (work.kind === 'mark') return (json as { numChangedSegments: number }).numChangedSegments
  return undefined
}

/** Returns the request that counts the rows of a datasource by day. */
export const queryOf = (dataSource: string): SentRequest => ({
  method: 'POST',
  path: '/svc/v2/sql',
  json: { query: countRows(dataSource), resultFormat: 'array' },
})

/** Returns the request of a piece of work. */
export function requestOf(work: Work): SentRequest {
  const post = (path: string, json?: unknown): SentRequest => ({ method: 'POST', path, json })
  switch (work.kind) {
    case 'setRules':
      return post(rulesOf(work.dataSource), work.rules)
    case 'readRules':
      return { path: rulesOf(work.dataSource) }
    case 'setCompaction': {
      const { dataSource, taskPriority } = work
      return post(`${coordinator}/config/compaction`, {
        dataSource,
        taskPriority,
        skipOffsetFromLatest: 'PT0S',
      })
    }
    case 'removeCompaction':
      return { method: 'DELETE', path: `${coordinator}/config/compaction/${work.dataSource}` }
    case 'mark':
      return post(`${coordinator}/datasources/${work.dataSource}/${work.used ? 'markUsed' : 'markUnused'}`, {
        interval: intervalOf(work.day),
      })
    case 'ingest':
      return post(
        '/svc/indexer/v1/task',
        ingestTask(work.dataSource, work.task, work.days, work.rowsPerDay, work.append),
      )
    case 'kill':
      return post('/svc/indexer/v1/task', {
        type: 'kill',
        id: work.task,
        dataSource: work.dataSource,
        interval: intervalOf(work.day),
      })
    case 'setRight':
      return {
        method: work.granted ? 'POST' : 'DELETE',
        path: `${authorization}/users/${users.changing}/roles/${users.reader}`,
      }
    case 'login':
      return loginRequest(work.login)
    case 'query':
      return queryOf(work.dataSource)
  }
}

/** The path of the rules of a datasource. */
export const rulesOf = (dataSource: string): string => `${coordinator}/rules/${dataSource}`

function loginRequest(login: Login): SentRequest {
  const path = rulesOf(dataSources.stable)
  switch (login) {
    case 'admin':
      return { path }
    case 'reader':
      return { path, credentials: credentialsOf(users.reader) }
    case 'readerElsewhere':
      return { path: rulesOf(dataSources.marked), credentials: credentialsOf(users.reader) }
    case 'readerWrites':
      return { method: 'POST', path, json: [], credentials: credentialsOf(users.reader) }
    case 'stranger':
      return { path, credentials: credentialsOf(users.stranger) }
    case 'wrongPassword':
      return { path, credentials: 'mallory:not-the-password' }
  }
}

/** The task that writes rows of some days, each with the name of the task. */
export function ingestTask(
  dataSource: string,
  task: string,
  ofDays: readonly string[],
  rowsPerDay: number,
  append: boolean,
): object {
  const rows = ofDays.flatMap((day) =>
    Array.from({ length: rowsPerDay }, (_, n) => JSON.stringify({ t: `${day}T12:00:00Z`, task, n })),
  )
  return {
    type: 'index_parallel',
    id: task,
    spec: {
      dataSchema: {
        dataSource,
        timestampSpec: { column: 't' },
        dimensionsSpec: { dimensions: ['task', { type: 'long', name: 'n' }] },
        granularitySpec: { segmentGranularity: 'DAY', rollup: false },
      },
      ioConfig: {
        type: 'index_parallel',
        inputSource: { type: 'inline', data: rows.join('\n') },
        inputFormat: { type: 'json' },
        appendToExisting: append,
      },
    },
  }
}
