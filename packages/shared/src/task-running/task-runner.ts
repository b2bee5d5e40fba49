import { setTimeout as delay } from 'node:timers/promises'
import { describeError } from '@svc/domain/failure'
import { deepStorageConfig, openDeepStorage } from '../deep-storage/index.ts'
import { slowedBy } from '../faults/index.ts'
import type { InputAccess } from '../ingestion/index.ts'
import {
  claimTaskWithNeeds,
  loadTask,
  loadTaskPayload,
  releaseClaims,
  type StoredTask,
} from '../postgres/index.ts'
import { receiveTasks, type TaskReceiver } from '../redis/index.ts'
import { retryWhileStoreIsUnavailable, type ServiceContext } from '../service/index.ts'
import { createAttemptFiles } from './attempt-files.ts'
import { type ClaimedTask, claimMs, runAttempt, type Workplace } from './run-attempt.ts'
import { openTaskLogs } from './task-logs.ts'
import { taskNeedsOf } from './task-needs.ts'

/** Runs tasks in this server's task slots. */
export interface TaskRunner {
  readonly capacity: number
  /** IDs of the tasks that run here. */
  running(): readonly string[]
  /** Cancels a task that is already stored as finished, if it runs here, and removes the files that it has written. */
  cancel(task: StoredTask): void
  lastCompletedAt(): number | undefined
  start(): Promise<void>
  /** Releases the tasks that run here to other workers or the next start. */
  stop(): Promise<void>
}

type Context = Pick<
  ServiceContext,
  'settings' | 'logger' | 'database' | 'clock' | 'faults' | 'node' | 'stopping'
>

// How long the stop of a server waits for canceled attempts.
const maxCleanupMs = 1000

export function createTaskRunner(context: Context, access: InputAccess): TaskRunner {
  const { settings, logger, database, clock, stopping } = context
  const capacity = settings.get('svc.worker.capacity')
  const workplace = openWorkplace(context, access)
  const { files } = workplace
  const running = new Map<string, AbortController>()
  const attempts = new Set<Promise<void>>()
  let lastCompletedAt: number | undefined
  let receiver: TaskReceiver | undefined

  async function run(taskId: string): Promise<void> {
    const attempt = runTask(taskId)
    attempts.add(attempt)
    await attempt.finally(() => attempts.delete(attempt))
  }

  async function runTask(taskId: string): Promise<void> {
    if (stopping.aborted || running.has(taskId)) return
    const claimed = await claim(context, access, taskId)
    if (claimed === undefined) return
    running.set(taskId, claimed.controller)
    try {
      await runAttempt(workplace, claimed)
    } catch (error) {
      // The metadata store or the disk is unavailable: the claim expires, and the task runs again.
      logger.error('Task attempt failed; it will be retried', {
        task: taskId,
        attempt: claimed.attempt,
        error: describeError(error),
      })
    } finally {
      running.delete(taskId)
      lastCompletedAt = clock.now()
    }
  }

  return {
    capacity,
    running: () => [...running.keys()],
    cancel: ({ id, dataSource, attempt }) => {
      const controller = running.get(id)
      if (controller !== undefined) controller.abort()
      // Its worker may be dead; a live one notices the end and removes the files written until then.
      else void files.removeThrough({ taskId: id, dataSource, attempt })
    },
    lastCompletedAt: () => lastCompletedAt,
    start: async () => {
      await retryWhileStoreIsUnavailable(() => releaseClaims(database, context.node().name), context)
      await files.removeFormer()
      if (capacity > 0) receiver = await receiveTasks(settings, capacity, run)
    },
    stop: async () => {
      for (const controller of running.values()) controller.abort()
      await receiver?.close()
      // They delete their files, and write the ends of their logs.
      await Promise.race([Promise.allSettled(attempts), delay(maxCleanupMs, undefined, { ref: false })])
      await releaseClaims(database, context.node().name).catch(() => undefined)
    },
  }
}

function openWorkplace(context: Context, access: InputAccess): Workplace {
  const { settings, faults } = context
  const storage = deepStorageConfig(settings)
  const deepStorage = slowedBy(faults.diskDelayMs, openDeepStorage(storage))
  const files = createAttemptFiles(context, deepStorage)
  return { context, access, storage, deepStorage, logs: openTaskLogs(settings), files }
}

/** Claims a task for this server. Returns undefined if it must wait, or if it has ended or another worker has it. */
async function claim(
  { settings, logger, database, node }: Context,
  access: InputAccess,
  taskId: string,
): Promise<ClaimedTask | undefined> {
  const task = await loadTask(database, taskId)
  if (task === undefined) return undefined
  const payload = await loadTaskPayload(database, taskId)
  const { name, host, plaintextPort, tlsPort } = node()
  const worker = { name, host, port: plaintextPort, tlsPort }
  const needs = taskNeedsOf(task, payload, { settings, access })
  const claimed = await claimTaskWithNeeds(database, taskId, worker, claimMs, needs)
  if (claimed.kind !== 'claimed') return undefined
  const { attempt, preempted } = claimed
  logger.info('Task started', { task: taskId, attempt, ...(preempted.length > 0 ? { preempted } : {}) })
  return { task, payload, attempt, controller: new AbortController() }
}
