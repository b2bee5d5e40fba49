import { setTimeout as delay } from 'node:timers/promises'
import type { Answer, SentRequest } from '@svc/shared/testing'
import { querySql } from '../support/sql.ts'
import type { TestCluster } from '../support/test-cluster.ts'
import { credentialsOf } from '../support/test-users.ts'
import type { CountedRows, Entry, Outcome } from './history.ts'
import { dataSources, instances, intervalOf, type Login, type Work, type WorkStep } from './schedule.ts'
import { ingestTask, users } from './world.ts'

/** Request timeout. The outcome of a request that takes longer is unknown. */
const timeoutMs = 10_000

const coordinator = '/svc/coordinator/v1'
const authorization = '/svc-ext/basic-security/authorization/db/MyBasicMetadataAuthorizer'

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

/** Sends a piece of work at its time, once all earlier work of its register is answered; records both. */
export function startWork(
  cluster: TestCluster,
  steps: readonly WorkStep[],
  now: () => number,
  record: (entry: Entry) => void,
): Promise<void> {
  const registers = Map.groupBy(steps, ({ register }) => register)
  const runs = [...registers.values()].map(async (ofRegister) => {
    for (const step of ofRegister) {
      await delay(Math.max(step.atMs - now(), 0))
      record({ type: 'work', at: now(), step })
      const { status, response, outcome } = await send(cluster, step)
      record({
        type: 'answer',
        at: now(),
        id: step.id,
        outcome,
        status,
        ...(response === undefined ? {} : { response }),
      })
    }
  })
  return Promise.all(runs).then(() => undefined)
}

interface Sent {
  readonly outcome: Outcome
  readonly status: number | null
  readonly response?: unknown
}

async function send(cluster: TestCluster, { id, to, work }: WorkStep): Promise<Sent> {
  const client = cluster.at(to)
  const request = requestOf(work)
  const headers = { 'X-Svc-Author': 'faults', 'X-Svc-Comment': id }
  const sent =
    work.kind === 'query'
      ? querySql(client, countRows(work.dataSource), { resultFormat: 'array' })
      : client.send({ ...request, headers })
  const answer = await answerInTime(sent)
  if (answer === undefined) return { outcome: 'unknown', status: null }
  const { status } = answer
  if (status >= 500) return { outcome: 'unknown', status }
  if (status >= 400) return { outcome: 'refused', status }
  const response = responseOf(work, answer)
  return { outcome: 'done', status, ...(response === undefined ? {} : { response }) }
}

/** The answer; undefined if none came in time or the connection broke. */
export async function answerInTime(sent: Promise<Answer>): Promise<Answer | undefined> {
  const timer = new AbortController()
  try {
    return await Promise.race([
      sent.catch(() => undefined),
      delay(timeoutMs, undefined, { signal: timer.signal }).catch(() => undefined),
    ])
  } finally {
    timer.abort()
  }
}

function responseOf(work: Work, { json }: Answer): unknown {
  if (work.kind === 'readRules') return readRules(json)
  if (work.kind === 'query') return readCounts(json)
  if (work.kind === 'mark') return (json as { numChangedSegments: number }).numChangedSegments
  return undefined
}

function requestOf(work: Work): SentRequest {
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
      return { path: '' }
  }
}

/**
 * Sends a request to a server as the user whose permission is granted and revoked; the request needs that
 * permission.
 */
export function requestWithRight(cluster: TestCluster, instance: string): Promise<Answer> {
  const client = cluster.at(instance)
  const credentials = credentialsOf(users.changing)
  const isOne = (role: keyof typeof instances) => (instances[role] as readonly string[]).includes(instance)
  if (isOne('broker')) return querySql(client, countRows(dataSources.stable), { credentials })
  if (isOne('coordinator')) return client.send({ path: rulesOf(dataSources.stable), credentials })
  const path = isOne('overlord') ? `/svc/indexer/v1/tasks?datasource=${dataSources.stable}` : '/status'
  return client.send({ path, credentials })
}

const rulesOf = (dataSource: string): string => `${coordinator}/rules/${dataSource}`

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
