import { setTimeout as delay } from 'node:timers/promises'
import { cancelled, Failure, invalidInput, timedOut, unavailable } from '@svc/domain/failure'
import type { FileIngestion } from '@svc/domain/ingestion'
import type { IndexProgress } from '@svc/shared/ingestion'
import { retry } from '@svc/shared/retry'
import type { ClusterClient } from '../client/index.ts'
import type { HomeLayout } from '../home/index.ts'
import { indexTask } from './index-task.ts'
import { findFile, provideInput } from './input-file.ts'
import type { IngestPhase } from './progress-text.ts'
import { followTask, shutDownTask, submitTask, type TaskStatus, taskLogCommand } from './task.ts'
import { inTermsOfRequest, isAboutRequest } from './task-message.ts'

/** What to ingest, and how to report progress. */
export interface IngestRequest {
  readonly file: string
  readonly spec: FileIngestion
  /** Whether to wait until historicals serve the datasource. */
  readonly waitLoaded: boolean
  /** When aborted, cancels the ingestion and its task. */
  readonly signal: AbortSignal
  readonly onTask?: ((id: string) => void) | undefined
  readonly onPhase?: ((phase: IngestPhase) => void) | undefined
}

/** Result of a successful ingestion. */
export interface IngestResult {
  readonly task: string
  readonly dataSource: string
  readonly durationMs: number
  /** Row and segment counts, if the task reported them. */
  readonly counts: Omit<IndexProgress, 'phase' | 'fraction'> | null
  /** Whether historicals serve all required segments of the datasource; undefined without `waitLoaded`. */
  readonly isLoaded: boolean | undefined
}

const loadPollMs = 250
const retryTimeoutMs = 30_000
/** Loading without progress for this long is a failure. */
const loadStallMs = 120_000

/**
 * Ingests a file. Returns when the task has succeeded. Throws a Failure if it fails or the file has no rows. If the
 * signal is aborted, cancels the task first. Always deletes the copy of the file, if there is one.
 */
export async function ingestFile(
  client: ClusterClient,
  home: HomeLayout,
  request: IngestRequest,
): Promise<IngestResult> {
  const { spec, signal } = request
  const file = await findFile(request.file)
  const allowedRoots = await getAllowedRoots(client)
  const onCopy = () => request.onPhase?.({ kind: 'copying' })
  const input = await provideInput(file, { allowedRoots, home, signal, onCopy })
  try {
    const names = { inputPath: input.path, file: request.file }
    const task = await submitTask(client, indexTask(spec, input.path)).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error
      throw new Failure(error.code, inTermsOfRequest(error.message, names), error.context, error)
    })
    request.onTask?.(task)
    const status = await runToEnd(client, task, request)
    if (status.statusCode === 'FAILED') {
      const reason = inTermsOfRequest(status.errorMsg ?? 'unknown reason', names)
      const message = `Task [${task}] failed: ${reason}. To show its log, run ${taskLogCommand(home, task)}`
      throw isAboutRequest(reason) ? invalidInput(message) : unavailable(message)
    }
    if (status.progress?.phase === 'writing' && status.progress.rowsRead === 0) {
      throw invalidInput(
        `File [${request.file}] has no rows. Nothing was ingested into [${spec.dataSource}].`,
      )
    }
    return {
      task,
      dataSource: spec.dataSource,
      durationMs: status.duration,
      counts: status.progress && isFinal(status.progress) ? status.progress : null,
      isLoaded: request.waitLoaded ? await untilLoaded(client, request) : undefined,
    }
  } finally {
    await input.remove()
  }
}

/** The folders from which the overlord may read files. */
async function getAllowedRoots(client: ClusterClient): Promise<readonly string[]> {
  const properties = (await client.send('GET', '/proxy/overlord/status/properties')) as Record<string, string>
  return JSON.parse(properties['svc.ingestion.local.allowedRoots'] ?? '[]')
}

async function runToEnd(client: ClusterClient, task: string, request: IngestRequest): Promise<TaskStatus> {
  const { signal, onPhase } = request
  try {
    return await followTask(client, task, {
      signal,
      onStatus: (status) => onPhase?.({ kind: 'task', status }),
    })
  } catch (error) {
    if (!signal.aborted) throw error
    const end = await shutDownTask(client, task).catch((shutdownError: unknown) => {
      const why = shutdownError instanceof Failure ? `: ${shutdownError.message}` : ''
      throw unavailable(`Failed to cancel task [${task}], which may still be running${why}`)
    })
    // It may have completed just before it was canceled.
    if (end.statusCode === 'SUCCESS') return end
    throw cancelled(`Canceled task [${task}]. Nothing was ingested.`)
  }
}

/** Whether this is the final report of a task, not an earlier one. */
function isFinal({ phase, fraction }: IndexProgress): boolean {
  return phase === 'writing' && fraction === 1
}

async function untilLoaded(client: ClusterClient, request: IngestRequest): Promise<true> {
  const { signal, onPhase } = request
  const { dataSource } = request.spec
  let last = -1
  let progressAt = performance.now()
  for (;;) {
    const answer = await retry(() => client.send('GET', '/svc/coordinator/v1/loadstatus'), {
      timeoutMs: retryTimeoutMs,
      signal,
    })
    // A datasource without required segments is not listed.
    const percent = (answer as Record<string, number>)[dataSource] ?? 100
    onPhase?.({ kind: 'loading', percent })
    if (percent >= 100) return true
    if (percent !== last) progressAt = performance.now()
    last = percent
    if (performance.now() - progressAt >= loadStallMs) {
      throw timedOut(
        `Ingested the file into datasource [${dataSource}], but loading is stuck at [${percent.toFixed(1)}] percent. See ./svc status and ./svc logs coordinator.`,
      )
    }
    await delay(loadPollMs, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}
