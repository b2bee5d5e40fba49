import { setTimeout as delay } from 'node:timers/promises'
import { Failure, unavailable } from '@svc/domain/failure'
import type { IndexProgress } from '@svc/shared/ingestion'
import { retry } from '@svc/shared/retry'
import type { ClusterClient } from '../client/index.ts'
import { type HomeLayout, homeArgument } from '../home/index.ts'

/** The status of a task, as returned by the overlord. */
export interface TaskStatus {
  readonly statusCode: 'RUNNING' | 'SUCCESS' | 'FAILED'
  readonly runnerStatusCode: 'PENDING' | 'RUNNING' | 'NONE'
  readonly errorMsg: string | null
  readonly progress: IndexProgress | null
  /** Milliseconds; -1 while it is running. */
  readonly duration: number
}

const pollMs = 250
/** Another overlord takes over in less than 10 s. */
const retryTimeoutMs = 30_000
/** A task that is shut down is killed, and its status is stored at once. */
const shutdownTimeoutMs = 10_000
/** Only this much of the end of a task's log is read. */
const maxLogBytes = 64 * 1024

/** The path of a task; its id contains colons and the name of the datasource. */
function taskPath(id: string, rest: 'status' | 'log' | 'shutdown'): string {
  return `/svc/indexer/v1/task/${encodeURIComponent(id)}/${rest}`
}

/** The last lines of the log of a task, as logged. Throws a Failure if there is no log. */
export async function readTaskLog(client: ClusterClient, id: string, lines: number): Promise<string[]> {
  const answer = await client.send('GET', `${taskPath(id, 'log')}?offset=${-maxLogBytes}`)
  // A log of one line is itself JSON, and was parsed.
  const text = typeof answer === 'string' ? answer : answer === undefined ? '' : JSON.stringify(answer)
  const isCut = Buffer.byteLength(text) >= maxLogBytes
  const complete = text
    .split('\n')
    .slice(isCut ? 1 : 0)
    .filter((line) => line.trim() !== '')
  return lines === 0 ? complete : complete.slice(-lines)
}

/** The command that shows the log of a task of the cluster in a home. */
export function taskLogCommand(home: HomeLayout, id: string): string {
  const quoted = /^[\w:.-]+$/.test(id) ? id : `'${id.replaceAll("'", "'\\''")}'`
  return `./svc logs${homeArgument(home.root)} --task ${quoted}`
}

/** Submits a task and returns its id. */
export async function submitTask(client: ClusterClient, task: unknown): Promise<string> {
  const answer = (await client.send('POST', '/svc/indexer/v1/task', task)) as { task: string }
  return answer.task
}

/** Polls a task until it is complete. Throws the reason of an aborted signal. */
export async function followTask(
  client: ClusterClient,
  id: string,
  options: { readonly signal: AbortSignal; readonly onStatus: (status: TaskStatus) => void },
): Promise<TaskStatus> {
  for (;;) {
    const status = await getStatus(client, id, options.signal)
    if (status.statusCode !== 'RUNNING') return status
    options.onStatus(status)
    await delay(pollMs)
  }
}

/** Shuts down a task and waits until it is complete; it may have succeeded just before. */
export async function shutDownTask(client: ClusterClient, id: string): Promise<TaskStatus> {
  await retry(() => client.send('POST', taskPath(id, 'shutdown')), {
    timeoutMs: shutdownTimeoutMs,
  })
  const signal = AbortSignal.timeout(shutdownTimeoutMs)
  return followTask(client, id, { signal, onStatus: () => undefined })
}

async function getStatus(client: ClusterClient, id: string, signal: AbortSignal): Promise<TaskStatus> {
  try {
    const answer = await retry(() => client.send('GET', taskPath(id, 'status')), {
      timeoutMs: retryTimeoutMs,
      signal,
    })
    return (answer as { status: TaskStatus }).status
  } catch (error) {
    if (signal.aborted || !(error instanceof Failure)) throw error
    throw unavailable(`Task [${id}] was submitted, but its status is unavailable: ${error.message}`)
  }
}
