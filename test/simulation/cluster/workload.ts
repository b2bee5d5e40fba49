import { shownTaskId } from '@svc/shared/postgres'
import type { Entry, Outcome } from '../../faults/history.ts'
import { queryOf, readCounts, requestOf, responseOf, rulesOf } from '../../faults/requests.ts'
import { dataSources, days, firstRowsPerDay, type Work, type WorkStep } from '../../faults/schedule.ts'
import type { CancellationStep, DecommissioningStep } from '../schedule.ts'
import { sendRequest } from '../stand-ins/http/connections.ts'
import type { SimulatedCluster } from './cluster.ts'
import { urlOf } from './layout.ts'
import type { Observer } from './observer.ts'

/** Request timeout. The outcome of a request that takes longer is unknown. */
const timeoutMs = 10_000
const probePeriodMs = 5000
/** The datasource whose rules only probes write. */
const probed = 'probed'

interface Request {
  readonly method?: string | undefined
  readonly path: string
  readonly json?: unknown
}

interface Answer {
  readonly status: number
  readonly json: unknown
}

/** Sends a request as a user. Returns undefined if there is no answer in time. Call it in the client's process. */
async function send(
  cluster: SimulatedCluster,
  to: string,
  { method = 'GET', path, json }: Request,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer | undefined> {
  const body = json === undefined ? undefined : Buffer.from(JSON.stringify(json))
  const request = { method, path, headers: { 'content-type': 'application/json', ...headers }, body }
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    let answer = await sendRequest(cluster.client, urlOf(to), request, { signal })
    const { location } = answer.headers
    if (answer.status === 307)
      answer = await sendRequest(cluster.client, new URL(String(location)).origin, request, { signal })
    const { status, body: text } = answer
    return { status, json: text.length === 0 ? undefined : JSON.parse(text.toString()) }
  } catch {
    return undefined
  }
}

/** Sends each piece of work at its time, once all earlier work of its register is answered. */
export function startWork(cluster: SimulatedCluster, observer: Observer, steps: readonly WorkStep[]): void {
  const registers = Map.groupBy(steps, ({ register }) => register)
  for (const ofRegister of registers.values())
    cluster.client.later(0, () => void sendInOrder(cluster, observer, ofRegister))
}

async function sendInOrder(
  cluster: SimulatedCluster,
  observer: Observer,
  steps: readonly WorkStep[],
): Promise<void> {
  for (const step of steps) {
    await new Promise((resolve) => setTimeout(resolve, step.atMs - observer.now()))
    observer.record({ type: 'work', at: observer.now(), step })
    const { work, to, id } = step
    const request = requestFor(work)
    const answer = await send(cluster, to, request, { 'x-svc-author': 'faults', 'x-svc-comment': id })
    const entry = answerOf(observer, step, answer)
    observer.record(entry)
    if (entry.outcome === 'done') checkStored(cluster, observer, step, entry.response)
  }
}

/** Returns the request of a piece of work. Each compaction configuration requires all segments to be compacted again. */
function requestFor(work: Work): Request {
  const request = requestOf(work)
  if (work.kind !== 'setCompaction') return request
  const partitionsSpec = { type: 'dynamic', maxRowsPerSegment: 1_000_000 + work.taskPriority }
  return { ...request, json: { ...(request.json as object), tuningConfig: { partitionsSpec } } }
}

function answerOf(observer: Observer, { id, work }: WorkStep, answer: Answer | undefined) {
  // A broker does not miss a segment that no historical has had since it started, or that one has lost.
  // A request that was redirected twice was not executed.
  const isUnknown =
    answer === undefined ||
    answer.status >= 500 ||
    answer.status === 307 ||
    (work.kind === 'query' && !observer.knowsServed())
  const outcome: Outcome = isUnknown ? 'unknown' : answer.status >= 400 ? 'refused' : 'done'
  const response = outcome === 'done' ? responseOf(work, { json: answer?.json }) : undefined
  return {
    type: 'answer',
    at: observer.now(),
    id,
    outcome,
    status: answer?.status ?? null,
    ...(response === undefined ? {} : { response }),
  } satisfies Entry
}

/** A write is committed before it is acknowledged. */
function checkStored(
  { store: { tables } }: SimulatedCluster,
  observer: Observer,
  step: WorkStep,
  response: unknown,
): void {
  const { work, id } = step
  const isAudited = [...tables.audit.rows.values()].some(({ comment }) => comment === id)
  const isWrite =
    work.kind === 'setRules' || work.kind === 'setCompaction' || (work.kind === 'mark' && response !== 0)
  const hasTask =
    (work.kind !== 'ingest' && work.kind !== 'kill') ||
    [...tables.tasks.rows.keys()].some((task) => task.startsWith(work.task))
  if ((isWrite && !isAudited) || !hasTask)
    observer.violation(
      'no acknowledged write is lost',
      `[${id}] (${work.kind}) was acknowledged but is not stored`,
    )
}

/** Changes the dynamic configuration at the times of the steps. The last step is repeated until it succeeds. */
export function startDecommissioning(
  cluster: SimulatedCluster,
  observer: Observer,
  steps: readonly DecommissioningStep[],
): void {
  const run = async (): Promise<void> => {
    for (const [index, { atMs, decommissioned }] of steps.entries()) {
      await new Promise((resolve) => setTimeout(resolve, atMs - observer.now()))
      const decommissioningNodes = decommissioned === undefined ? [] : [`${decommissioned}:8080`]
      const json = { decommissioningNodes }
      const change = () =>
        send(cluster, 'router', { method: 'POST', path: '/svc/coordinator/v1/config', json })
      let answer = await change()
      while (index === steps.length - 1 && answer?.status !== 200) {
        await new Promise((resolve) => setTimeout(resolve, 1000))
        answer = await change()
      }
    }
  }
  cluster.client.later(0, () => void run())
}

/** Cancels the newest task that has not finished at the time of each step. */
export function startCancellations(
  cluster: SimulatedCluster,
  observer: Observer,
  steps: readonly CancellationStep[],
): void {
  const { tasks } = cluster.store.tables
  const cancel = async (): Promise<void> => {
    const newest = [...tasks.rows.values()].findLast(
      ({ state }) => state === 'PENDING' || state === 'RUNNING',
    )
    if (newest === undefined) return
    const path = `/svc/indexer/v1/task/${encodeURIComponent(shownTaskId(newest.id))}/shutdown`
    const answer = await send(cluster, 'router', { method: 'POST', path, json: {} })
    const { state } = tasks.rows.get(newest.id)!
    if (answer?.status === 200 && state !== 'FAILED' && state !== 'SUCCESS')
      observer.violation('no acknowledged write is lost', `Task [${newest.id}] was canceled but is ${state}`)
  }
  for (const { atMs } of steps) cluster.client.later(atMs - observer.now(), () => void cancel())
}

/** Checks regularly whether the cluster accepts a write and answers a query. */
export function startProbes(cluster: SimulatedCluster, observer: Observer, isOver: () => boolean): void {
  const probe = async (): Promise<void> => {
    const from = observer.now()
    const problem = await problemOf(cluster)
    observer.record({ type: 'probe', from, until: observer.now(), problem })
  }
  const repeat = async (): Promise<void> => {
    while (!isOver()) {
      observer.lookAtBroker()
      void probe()
      await new Promise((resolve) => setTimeout(resolve, probePeriodMs))
    }
  }
  cluster.client.later(0, () => void repeat())
}

async function problemOf(cluster: SimulatedCluster): Promise<string | null> {
  const json = [{ type: 'loadForever', tieredReplicants: { _default_tier: 1 } }]
  const write = await send(cluster, 'router', { method: 'POST', path: rulesOf(probed), json })
  if (write?.status !== 200) return `write: ${write?.status ?? 'no answer'} ${JSON.stringify(write?.json)}`
  const answer = await send(cluster, 'router', queryOf(dataSources.stable))
  if (answer?.status !== 200) return `query: ${answer?.status ?? 'no answer'} ${JSON.stringify(answer?.json)}`
  const rows = readCounts(answer.json)
  const isComplete = rows.length === days.length && rows.every((row) => row.rows === firstRowsPerDay)
  return isComplete ? null : `query: ${JSON.stringify(rows)}`
}

/** Counts the rows of a datasource with a query. Returns undefined if it fails. Call it in the client's process. */
export async function queryRows(cluster: SimulatedCluster, dataSource: string) {
  const answer = await send(cluster, 'router', queryOf(dataSource))
  return answer?.status === 200 ? readCounts(answer.json) : undefined
}

/** What the coordinator leader knows about a historical. */
export interface LeaderView {
  readonly instance: string
  /** The segments that it serves; none if the leader does not know it. */
  readonly segments: readonly string[]
  /** Number of requests that it has not answered. */
  readonly queued: number
}

/** Asks the coordinator leader about historicals. Returns undefined if it does not answer. Call it in the client's process. */
export async function readLeaderViews(
  cluster: SimulatedCluster,
  instances: readonly string[],
): Promise<LeaderView[] | undefined> {
  const base = '/svc/coordinator/v1'
  const queues = await send(cluster, 'router', { path: `${base}/loadqueue?simple` })
  if (queues?.status !== 200) return undefined
  const sizes = queues.json as Record<string, { segmentsToLoad: number; segmentsToDrop: number }>
  const views: LeaderView[] = []
  for (const instance of instances) {
    const server = `${instance}:8080`
    const answer = await send(cluster, 'router', { path: `${base}/servers/${server}/segments` })
    const { segmentsToLoad = 0, segmentsToDrop = 0 } = sizes[server] ?? {}
    views.push({
      instance,
      segments: answer?.status === 200 ? (answer.json as string[]) : [],
      queued: segmentsToLoad + segmentsToDrop,
    })
  }
  return views
}
