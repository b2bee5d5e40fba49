import { setTimeout as delay } from 'node:timers/promises'
import { Failure, unavailable } from '@svc/domain/failure'
import type { IndexProgress } from '@svc/shared/ingestion'
import type { ClusterClient } from '../client/index.ts'
import { type HomeLayout, homeArgument } from '../home/index.ts'
import { askPatiently } from './ask-patiently.ts'

/** How far a task has come, as the overlord tells it. */
export interface TaskStatus {
  readonly statusCode: 'RUNNING' | 'SUCCESS' | 'FAILED'
  readonly runnerStatusCode: 'PENDING' | 'RUNNING' | 'NONE'
  readonly errorMsg: string | null
  readonly progress: IndexProgress | null
  /** Milliseconds; -1 while it runs. */
  readonly duration: number
}

const POLL_MS = 250
/** Another overlord takes over in under 10 s. */
const PATIENCE_MS = 30_000
/** A task that is shut down is killed; its end is stored at once. */
const SHUTDOWN_PATIENCE_MS = 10_000
/** As much of the end of a task's log as is looked through. */
const MOST_LOG_BYTES = 64 * 1024

/** Where a task is asked about; ids hold colons and what the user named the datasource. */
function taskPath(id: string, rest: 'status' | 'log' | 'shutdown'): string {
  return `/svc/indexer/v1/task/${encodeURIComponent(id)}/${rest}`
}

/** The last lines of the log of a task, as they were logged. Throws a Failure when there is none. */
export async function readTaskLog(client: ClusterClient, id: string, lines: number): Promise<string[]> {
  const answer = await client.send('GET', `${taskPath(id, 'log')}?offset=${-MOST_LOG_BYTES}`)
  // A log of one line comes as what that line means.
  const text = typeof answer === 'string' ? answer : answer === undefined ? '' : JSON.stringify(answer)
  const isCut = Buffer.byteLength(text) >= MOST_LOG_BYTES
  const whole = text
    .split('\n')
    .slice(isCut ? 1 : 0)
    .filter((line) => line.trim() !== '')
  return lines === 0 ? whole : whole.slice(-lines)
}

/** The command that shows the log of a task of the cluster in a home. */
export function taskLogCommand(home: HomeLayout, id: string): string {
  const named = /^[\w:.-]+$/.test(id) ? id : `'${id.replaceAll("'", "'\\''")}'`
  return `./svc logs${homeArgument(home.root)} --task ${named}`
}

/** Submits a task and returns its id. */
export async function submitTask(client: ClusterClient, task: unknown): Promise<string> {
  const answer = (await client.send('POST', '/svc/indexer/v1/task', task)) as { task: string }
  return answer.task
}

/** Asks again and again until the task has ended; throws the signal's reason when that is aborted. */
export async function followTask(
  client: ClusterClient,
  id: string,
  options: { readonly signal: AbortSignal; readonly onStatus: (status: TaskStatus) => void },
): Promise<TaskStatus> {
  for (;;) {
    const status = await askStatus(client, id, options.signal)
    if (status.statusCode !== 'RUNNING') return status
    options.onStatus(status)
    await delay(POLL_MS)
  }
}

/** Ends a task and waits until it has ended, which may also be with success just before. */
export async function shutDownTask(client: ClusterClient, id: string): Promise<TaskStatus> {
  await askPatiently(() => client.send('POST', taskPath(id, 'shutdown')), {
    patienceMs: SHUTDOWN_PATIENCE_MS,
  })
  const signal = AbortSignal.timeout(SHUTDOWN_PATIENCE_MS)
  return followTask(client, id, { signal, onStatus: () => undefined })
}

async function askStatus(client: ClusterClient, id: string, signal: AbortSignal): Promise<TaskStatus> {
  try {
    const answer = await askPatiently(() => client.send('GET', taskPath(id, 'status')), {
      patienceMs: PATIENCE_MS,
      signal,
    })
    return (answer as { status: TaskStatus }).status
  } catch (error) {
    if (signal.aborted || !(error instanceof Failure)) throw error
    throw unavailable(`Task [${id}] was submitted, but how far it is cannot be told: ${error.message}`)
  }
}
