import { setTimeout as delay } from 'node:timers/promises'
import type { Answer, SentRequest } from '@svc/shared/testing'
import { querySql } from '../support/sql.ts'
import type { TestCluster } from '../support/test-cluster.ts'
import { credentialsOf } from '../support/test-users.ts'
import type { Entry, Outcome } from './history.ts'
import { countRows, requestOf, responseOf, rulesOf, users } from './requests.ts'
import { dataSources, instances, type WorkStep } from './schedule.ts'

/** Request timeout. The outcome of a request that takes longer is unknown. */
const timeoutMs = 10_000

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
  const sent = { ...request, headers }
  const answer = await answerInTime(client.send(sent).then((first) => followed(cluster, first, sent)))
  if (answer === undefined) return { outcome: 'unknown', status: null }
  const { status } = answer
  // A second redirect: the leader has changed again.
  if (status >= 500 || status === 307) return { outcome: 'unknown', status }
  if (status >= 400) return { outcome: 'refused', status }
  const response = responseOf(work, answer)
  return { outcome: 'done', status, ...(response === undefined ? {} : { response }) }
}

/** Sends a request that is for the leader again, to the leader. */
async function followed(cluster: TestCluster, answer: Answer, request: SentRequest): Promise<Answer> {
  if (answer.status !== 307) return answer
  const { host } = new URL(String(answer.headers.location))
  const leader = cluster.plan.services.find(({ instance }) => cluster.nameOf(instance) === host)
  return leader === undefined ? answer : await cluster.at(leader.instance).send(request)
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

/**
 * Sends a request to a server as the user whose permission is granted and revoked; the request needs that
 * permission.
 */
export function requestWithRight(cluster: TestCluster, instance: string): Promise<Answer> {
  const client = cluster.at(instance)
  const credentials = credentialsOf(users.changing)
  const isOne = (role: keyof typeof instances) => (instances[role] as readonly string[]).includes(instance)
  if (isOne('broker')) return querySql(client, countRows(dataSources.stable), { credentials })
  if (isOne('coordinator'))
    return client.send({ path: `${rulesOf(dataSources.stable)}/history?count=1`, credentials })
  const path = isOne('overlord') ? `/svc/indexer/v1/tasks?datasource=${dataSources.stable}` : '/status'
  return client.send({ path, credentials })
}
