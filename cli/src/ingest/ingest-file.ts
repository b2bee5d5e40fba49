import { setTimeout as delay } from 'node:timers/promises'
import { conflict, Failure, unavailable } from '@svc/domain/failure'
import type { IndexProgress } from '@svc/shared/ingestion'
import type { ClusterClient } from '../client/index.ts'
import type { HomeLayout } from '../home/index.ts'
import { askPatiently } from './ask-patiently.ts'
import { type IngestSpec, indexTask } from './index-task.ts'
import { findFile, provideInput } from './input-file.ts'
import type { IngestPhase } from './progress-text.ts'
import { followTask, shutDownTask, submitTask, type TaskStatus, taskLogCommand } from './task.ts'
import { inWordsOfRequest } from './task-message.ts'

/** What to ingest and how to tell of it. */
export interface IngestRequest {
  readonly file: string
  readonly spec: IngestSpec
  /** Whether to wait until historicals serve the datasource. */
  readonly waitLoaded: boolean
  /** Ends the ingestion and its task when aborted. */
  readonly signal: AbortSignal
  readonly onTask?: ((id: string) => void) | undefined
  readonly onPhase?: ((phase: IngestPhase) => void) | undefined
}

/** An ingestion that has succeeded. */
export interface IngestResult {
  readonly task: string
  readonly dataSource: string
  readonly durationMs: number
  /** What was counted, as far as the task told it. */
  readonly counts: Omit<IndexProgress, 'phase' | 'fraction'> | null
  /** Whether historicals serve all that rules want of the datasource; undefined when that was not waited for. */
  readonly isLoaded: boolean | undefined
}

const LOAD_POLL_MS = 250
const ASK_PATIENCE_MS = 30_000
/** Loading that comes no further for this long is told as a failure. */
const LOAD_STANDSTILL_MS = 120_000

/**
 * Ingests a file and returns when the task has succeeded. Throws a Failure that tells why it did not, also when there
 * are no rows; when the signal
 * ends it, the task is shut down first. A copy of the file is removed in every case.
 */
export async function ingestFile(
  client: ClusterClient,
  home: HomeLayout,
  request: IngestRequest,
): Promise<IngestResult> {
  const { spec, signal } = request
  const file = await findFile(request.file)
  const allowedRoots = await askAllowedRoots(client)
  const onCopy = () => request.onPhase?.({ kind: 'copying' })
  const input = await provideInput(file, { allowedRoots, home, signal, onCopy })
  try {
    const words = { inputPath: input.path, file: request.file }
    const task = await submitTask(client, indexTask(spec, input.path)).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error
      throw new Failure(error.code, inWordsOfRequest(error.message, words), error.context, error)
    })
    request.onTask?.(task)
    const status = await runToEnd(client, task, request)
    if (status.statusCode === 'FAILED') {
      throw unavailable(
        `Task [${task}] failed: ${inWordsOfRequest(status.errorMsg ?? 'it tells no reason', words)} (its log: ${taskLogCommand(home, task)})`,
      )
    }
    if (status.progress?.phase === 'writing' && status.progress.rowsRead === 0) {
      throw conflict(`File [${request.file}] has 0 rows: nothing was ingested into [${spec.dataSource}]`)
    }
    return {
      task,
      dataSource: spec.dataSource,
      durationMs: status.duration,
      counts: status.progress && isWhole(status.progress) ? status.progress : null,
      isLoaded: request.waitLoaded ? await untilLoaded(client, request) : undefined,
    }
  } finally {
    await input.remove()
  }
}

/** Folders below which the overlord may read files. */
async function askAllowedRoots(client: ClusterClient): Promise<readonly string[]> {
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
      throw unavailable(`Task [${task}] could not be shut down and may still run${why}`)
    })
    // It may have been faster than the wish to stop it.
    if (end.statusCode === 'SUCCESS') return end
    throw unavailable(`Stopped: task [${task}] was shut down, nothing was ingested`)
  }
}

/** Whether it tells all that was done, and not how far the task was some time before its end. */
function isWhole({ phase, fraction }: IndexProgress): boolean {
  return phase === 'writing' && fraction === 1
}

async function untilLoaded(client: ClusterClient, request: IngestRequest): Promise<true> {
  const { signal, onPhase } = request
  const { dataSource } = request.spec
  let last = -1
  let standsSince = performance.now()
  for (;;) {
    const answer = await askPatiently(() => client.send('GET', '/svc/coordinator/v1/loadstatus'), {
      patienceMs: ASK_PATIENCE_MS,
      signal,
    })
    // A datasource of which rules want nothing is not listed.
    const percent = (answer as Record<string, number>)[dataSource] ?? 100
    onPhase?.({ kind: 'loading', percent })
    if (percent >= 100) return true
    if (percent !== last) standsSince = performance.now()
    last = percent
    if (performance.now() - standsSince >= LOAD_STANDSTILL_MS) {
      throw unavailable(
        `Datasource [${dataSource}] was ingested, but its loading stands still at [${percent.toFixed(1)}] percent: ./svc status and ./svc logs coordinator tell more`,
      )
    }
    await delay(LOAD_POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}
