import { rm } from 'node:fs/promises'
import path from 'node:path'
import { describeError, Failure } from '@svc/domain/failure'
import { createLocalDeepStorage, safeFileName } from '@svc/shared/deep-storage'
import { type InputAccess, parseIndexSpec, type WrittenSegment } from '@svc/shared/ingestion'
import {
  claimTask,
  finishAttempt,
  loadTask,
  loadTaskPayload,
  releaseClaims,
  renewClaim,
} from '@svc/shared/postgres'
import { receiveTasks, type TaskReceiver } from '@svc/shared/redis'
import { startLoop } from '@svc/shared/runtime'
import type { ServiceContext } from '@svc/shared/service'
import { parseKillSpec } from '@svc/shared/tasks'
import { killSegments, readKillProgress } from './kill-segments.ts'
import { type PublishingAttempt, publish } from './publish.ts'
import { type PeonEnd, runPeon } from './run-peon.ts'

/** Runs tasks in the slots of this server. */
export interface TaskRunner {
  readonly capacity: number
  /** The ids of the tasks that run here. */
  running(): readonly string[]
  /** Ends a task that runs here, whose end has been stored already. */
  cancel(taskId: string): void
  lastCompletedAt(): number | undefined
  start(): Promise<void>
  /** Gives the tasks that run here back, for another worker or the next start. */
  stop(): Promise<void>
}

// A worker that does not renew its claim for this long is taken for dead, and its task is run again.
const claimMs = 10_000
const renewPeriodMs = 2000
// Attempts that may end with the worker's death before a task counts as what kills it.
const mostAttempts = 5

/** The log of a task. */
export const taskLogFile = (directory: string, taskId: string): string =>
  path.join(directory, `${safeFileName(taskId)}.log`)

export function createTaskRunner(context: ServiceContext, access: InputAccess): TaskRunner {
  const { settings, logger, database, clock, stopping } = context
  const capacity = settings.get('svc.worker.capacity')
  const storageDirectory = path.resolve(settings.get('svc.storage.storageDirectory'))
  const deepStorage = createLocalDeepStorage({ rootDirectory: storageDirectory })
  const running = new Map<string, AbortController>()
  let lastCompletedAt: number | undefined
  let receiver: TaskReceiver | undefined

  async function run(taskId: string): Promise<void> {
    if (stopping.aborted || running.has(taskId)) return
    const { name, host, plaintextPort, tlsPort } = context.node()
    const attempt = await claimTask(database, taskId, { name, host, port: plaintextPort, tlsPort }, claimMs)
    if (attempt === undefined) return
    const controller = new AbortController()
    running.set(taskId, controller)
    logger.info('Task started', { task: taskId, attempt })
    try {
      await runAttempt(taskId, attempt, controller)
    } catch (error) {
      // The store or the disk is away: the claim runs out, and the task is run again.
      logger.error('An attempt of a task broke off', { task: taskId, attempt, error: describeError(error) })
    } finally {
      running.delete(taskId)
      lastCompletedAt = clock.now()
    }
  }

  async function runAttempt(taskId: string, attempt: number, controller: AbortController): Promise<void> {
    if (attempt > mostAttempts) {
      const errorMessage = `The worker died in each of [${mostAttempts}] attempts`
      await finishAttempt(database, taskId, attempt, { state: 'FAILED', errorMessage })
      return
    }
    const payload = await loadTaskPayload(database, taskId)
    let progress: unknown
    const claim = startLoop(
      renewPeriodMs,
      async () => {
        if (!(await renewClaim(database, taskId, attempt, claimMs, progress))) controller.abort()
      },
      (error) =>
        logger.warn('The claim of a task was not renewed', { task: taskId, error: describeError(error) }),
    )
    try {
      if ((payload as { type?: unknown }).type === 'kill') {
        await runKill(taskId, attempt, payload, controller.signal)
      } else {
        const end = await runIndex(taskId, attempt, payload, controller.signal, (next) => {
          progress = next
        })
        await claim.stop()
        await finish({ taskId, attempt, progress }, payload, end, controller.signal)
      }
    } finally {
      await claim.stop()
    }
  }

  async function runIndex(
    taskId: string,
    attempt: number,
    payload: unknown,
    signal: AbortSignal,
    onProgress: (progress: unknown) => void,
  ): Promise<PeonEnd> {
    const pathPrefix = `${safeFileName(taskId)}-${attempt}`
    const workDirectory = path.resolve(settings.get('svc.indexer.task.baseTaskDir'), pathPrefix)
    const memoryLimitBytes = settings.get('svc.indexer.task.memoryLimit')
    const logFile = taskLogFile(settings.get('svc.indexer.logs.directory'), taskId)
    try {
      return await runPeon(
        { taskId, attempt, payload, access, workDirectory, storageDirectory, pathPrefix, memoryLimitBytes },
        logFile,
        onProgress,
        signal,
      )
    } finally {
      await rm(workDirectory, { recursive: true, force: true })
    }
  }

  async function runKill(
    taskId: string,
    attempt: number,
    payload: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    const earlier = readKillProgress((await loadTask(database, taskId))?.progress)
    const claim = { taskId, attempt, claimMs }
    const erased = await killSegments(database, deepStorage, claim, parseKillSpec(payload), earlier, signal)
    if (erased === undefined) return
    await finishAttempt(database, taskId, attempt, { state: 'SUCCESS', errorMessage: null })
    logger.info('Task succeeded', { task: taskId, attempt, erasedSegments: erased })
  }

  async function finish(
    { taskId, attempt, progress }: PublishingAttempt,
    payload: unknown,
    end: PeonEnd,
    signal: AbortSignal,
  ): Promise<void> {
    const fail = async (errorMessage: string): Promise<void> => {
      await finishAttempt(database, taskId, attempt, { state: 'FAILED', errorMessage, progress })
      logger.warn('Task failed', { task: taskId, attempt, error: errorMessage })
    }
    if (end.kind === 'died') {
      if (signal.aborted) logger.info('Task ended from outside', { task: taskId, attempt })
      else await fail(`The process of the task died (${end.how})`)
      return
    }
    if (end.kind === 'failed') return await fail(end.message)
    try {
      if (
        await publish(
          database,
          { taskId, attempt, progress },
          parseIndexSpec(payload, access),
          end.segments,
          clock.now(),
        )
      ) {
        logger.info('Task succeeded', { task: taskId, attempt, segments: end.segments.length })
      } else {
        logger.warn('Nothing was published: another attempt of the task counts, or it was ended', {
          task: taskId,
          attempt,
        })
        await removeFiles(end.segments)
      }
    } catch (error) {
      // What the plan refuses is the task's own fault; what the store refuses may work another time.
      if (!(error instanceof Failure) || error.code === 'unavailable') throw error
      await fail(error.message)
      await removeFiles(end.segments)
    }
  }

  async function removeFiles(segments: readonly WrittenSegment[]): Promise<void> {
    for (const { path: file, checksum } of segments) {
      await deepStorage.remove({ type: 'local', path: file, checksum }).catch((error) => {
        logger.warn('A file without a segment stays in deep storage', { file, error: describeError(error) })
      })
    }
  }

  return {
    capacity,
    running: () => [...running.keys()],
    cancel: (taskId) => running.get(taskId)?.abort(),
    lastCompletedAt: () => lastCompletedAt,
    start: async () => {
      await releaseClaims(database, context.node().name)
      if (capacity > 0) receiver = receiveTasks(settings, capacity, run)
    },
    stop: async () => {
      for (const controller of running.values()) controller.abort()
      await receiver?.close()
      await releaseClaims(database, context.node().name).catch(() => undefined)
    },
  }
}
