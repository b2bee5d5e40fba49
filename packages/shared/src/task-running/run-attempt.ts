import { setTimeout as delay } from 'node:timers/promises'
import { describeError, Failure } from '@svc/domain/failure'
import { type DeepStorage, type FileStore, isDiskFull, type StoreConfig } from '../deep-storage/index.ts'
import type { InputAccess } from '../ingestion/index.ts'
import { finishAttempt, renewClaim, type StoredTask } from '../postgres/index.ts'
import { startLoop } from '../runtime/index.ts'
import type { ServiceContext } from '../service/index.ts'
import { type Job, type RunningTask, taskTypeOf, type WorkEnd, type Written } from '../tasks/index.ts'
import type { AttemptFiles, TaskAttempt } from './attempt-files.ts'
import { runPeon } from './run-peon.ts'
import { openGrowingLog } from './task-logs.ts'

/** If a worker does not renew its claim for this long, it is considered dead, and its task runs again. */
export const claimMs = 10_000
const renewPeriodMs = 2000
// How often a task retries publishing while another task has its interval.
const retryPublishingMs = 1000
// Max attempts that end with the worker's death before the task fails: it probably kills the worker.
const maxAttempts = 5

/** What the attempts of a worker have in common. */
export interface Workplace {
  readonly context: Pick<ServiceContext, 'settings' | 'logger' | 'database' | 'clock' | 'faults'>
  readonly access: InputAccess
  readonly storage: StoreConfig
  readonly deepStorage: DeepStorage
  readonly logs: FileStore
  readonly files: AttemptFiles
}

/** A claimed task. */
export interface ClaimedTask {
  readonly task: StoredTask
  readonly payload: unknown
  readonly attempt: number
  /** Aborted when the task is canceled, preempted, or handed over to another worker. */
  readonly controller: AbortController
}

/** An attempt in progress. */
interface Attempt extends Workplace {
  readonly task: StoredTask
  readonly own: TaskAttempt
  readonly signal: AbortSignal
  /** The newest progress that its process has reported. */
  progress: unknown
  /** Stops renewing the claim, which publishing does itself. */
  stopRenewing(): Promise<void>
}

/**
 * Runs an attempt to its end, and renews its claim until then. Rejects if the attempt must be retried because the
 * metadata store or the disk is unavailable.
 */
export async function runAttempt(workplace: Workplace, claimed: ClaimedTask): Promise<void> {
  const { task, payload, attempt: number, controller } = claimed
  const { context, access } = workplace
  const { database, logger } = context
  const attempt: Attempt = {
    ...workplace,
    task,
    own: { taskId: task.id, dataSource: task.dataSource, attempt: number },
    signal: controller.signal,
    progress: undefined,
    stopRenewing: () => claim.stop(),
  }
  const claim = startLoop(
    renewPeriodMs,
    async () => {
      if (!(await renewClaim(database, task.id, number, claimMs, attempt.progress))) controller.abort()
    },
    (error) =>
      logger.warn('Failed to renew the claim on a task', { task: task.id, error: describeError(error) }),
  )
  try {
    if (number > maxAttempts) {
      await fail(attempt, `The worker died during each of [${maxAttempts}] attempts`)
      return
    }
    const valid = await orFail(attempt, async () => {
      const type = taskTypeOf(task.type)
      return { type, spec: type.parse(payload, access) }
    })
    if (valid !== undefined) await valid.type.run(valid.spec, runningTask(attempt, payload))
  } finally {
    await claim.stop()
  }
}

/** Returns what the type of the task needs to run it. */
function runningTask(attempt: Attempt, payload: unknown): RunningTask {
  const { context, access, deepStorage, own, signal } = attempt
  const { settings, database, logger, clock } = context
  const { taskId, attempt: number } = own
  return {
    settings,
    database,
    logger,
    clock,
    deepStorage,
    access,
    taskId,
    attempt: number,
    payload,
    claimMs,
    signal,
    work: (order, threads) => workInProcess(attempt, order, threads),
    complete: (prepare) => complete(attempt, prepare),
  }
}

async function fail({ context, files, own, progress }: Attempt, errorMessage: string): Promise<void> {
  const { taskId, attempt } = own
  // Before the end is stored: if this worker dies here, the next attempt removes the files.
  await files.removeThrough(own)
  await finishAttempt(context.database, taskId, attempt, { state: 'FAILED', errorMessage, progress })
  context.logger.warn('Task failed', { task: taskId, attempt, error: errorMessage })
}

/**
 * Returns the result of `step`, or undefined after a Failure, which fails the task. Rejects if the error is not caused
 * by the task itself, so that another attempt may succeed.
 */
async function orFail<Result>(attempt: Attempt, step: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof Failure) || error.code === 'unavailable') throw error
    await fail(attempt, describeError(error))
    return undefined
  }
}

async function complete(attempt: Attempt, prepare: () => Promise<Job>): Promise<void> {
  const { context, files, own, signal } = attempt
  // Since this attempt could be claimed, no earlier one has been or will be published.
  await files.removeBefore(own)
  const job = await orFail(attempt, prepare)
  if (job === undefined) return
  const end = await job.work()
  if (end.kind === 'failed') await fail(attempt, end.message)
  else if (end.kind === 'died' && !signal.aborted) await fail(attempt, `The task process died (${end.how})`)
  else if (end.kind === 'died') {
    await files.removeThrough(own)
    context.logger.info('Task was canceled or preempted', { task: own.taskId, attempt: own.attempt })
  } else {
    await attempt.stopRenewing()
    // If the plan rejects the result, the task fails.
    await orFail(attempt, () => publish(attempt, job, end))
  }
}

/** Runs the work of the task's type in its own process. */
async function workInProcess(attempt: Attempt, order: unknown, threads: number): Promise<WorkEnd> {
  const { context, files, own, task, signal, storage, logs } = attempt
  const { settings, faults, logger } = context
  const peonOrder = {
    taskId: task.shownId,
    attempt: own.attempt,
    type: task.type,
    order,
    threads,
    storage,
    workDirectory: files.workDirectory(own),
    pathPrefix: files.pathPrefix(own),
    memoryLimitBytes: settings.get('svc.indexer.task.memoryLimit'),
    diskDelayMs: faults.diskDelayMs(),
  }
  const onProgress = (progress: unknown): void => {
    attempt.progress = progress
  }
  try {
    await files.begin(own)
    // Under the unique ID: tasks of other datasources may have the same shown ID.
    const log = await openGrowingLog(logs, { ...own, workDirectory: peonOrder.workDirectory }, logger)
    try {
      return await runPeon(peonOrder, log.file, onProgress, signal)
    } finally {
      await log.close()
    }
  } catch (error) {
    // Another attempt would fail as well.
    if (isDiskFull(error)) return { kind: 'failed', message: describeError(error) }
    throw error
  }
}

async function publish(attempt: Attempt, job: Job, written: Written): Promise<void> {
  const { context, files, own, task, progress, signal } = attempt
  const { database, logger } = context
  const storageType = attempt.deepStorage.type
  const { taskId, attempt: number } = own
  const publishing = { taskId, attempt: number, priority: task.priority, progress, storageType }
  let published = await job.publish(publishing, written)
  // Not a retry of the same work: the claim is renewed before each attempt, because another worker may have it.
  while (published === 'intervalTaken') {
    await delay(retryPublishingMs, undefined, { signal }).catch(() => undefined)
    if (!(await renewClaim(database, taskId, number, claimMs))) published = 'notTheAttempt'
    else published = await job.publish(publishing, written)
  }
  if (published === 'published') {
    await files.end(own)
    logger.info('Task succeeded', { task: taskId, attempt: number, segments: written.segments.length })
    return
  }
  logger.warn('Discarded the result of a task attempt that was superseded, canceled, or preempted', {
    task: taskId,
    attempt: number,
  })
  await files.removeThrough(own)
}
