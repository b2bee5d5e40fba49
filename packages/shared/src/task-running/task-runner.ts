import { availableParallelism } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describeError, Failure } from '@svc/domain/failure'
import { createLocalDeepStorage, isDiskFull, safeFileName } from '../deep-storage/index.ts'
import { slowedBy } from '../faults/index.ts'
import { httpInputLimitsOf, type InputAccess, parseIndexSpec } from '../ingestion/index.ts'
import {
  claimTaskWithNeeds,
  finishAttempt,
  loadTask,
  loadTaskPayload,
  releaseClaims,
  renewClaim,
  type StoredTask,
  type TaskNeeds,
} from '../postgres/index.ts'
import { receiveTasks, type TaskReceiver } from '../redis/index.ts'
import { startLoop } from '../runtime/index.ts'
import type { ServiceContext } from '../service/index.ts'
import { isCompactTask, parseCompactSpec, parseKillSpec } from '../tasks/index.ts'
import { createAttemptFiles, type TaskAttempt } from './attempt-files.ts'
import { type PreparedCompaction, prepareCompaction, publishCompaction } from './compact-segments.ts'
import { killSegments, readKillProgress } from './kill-segments.ts'
import type { PeonWork } from './peon-protocol.ts'
import { publishIndex } from './publish-index-task.ts'
import type { PublishedState, PublishingAttempt } from './published-rows.ts'
import { type PeonEnd, runPeon } from './run-peon.ts'

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

// If a worker does not renew its claim for this long, it is considered dead, and its task runs again.
const claimMs = 10_000
const renewPeriodMs = 2000
// How often a task retries publishing while another task has its interval.
const retryPublishingMs = 1000
// Max attempts that end with the worker's death before the task fails: it probably kills the worker.
const maxAttempts = 5

/** Virtual work only takes time: its result is known, so it needs no process. */
type VirtualWork = Extract<PreparedCompaction['work'], { kind: 'virtual' }>

interface Job {
  readonly work: PeonWork | VirtualWork
  readonly threads: number
  publish(attempt: PublishingAttempt, end: Extract<PeonEnd, { kind: 'done' }>): Promise<PublishedState>
}

/** Whether an error is not caused by the task itself, so that another attempt may succeed. */
const isTroubleElsewhere = (error: unknown): boolean =>
  !(error instanceof Failure) || error.code === 'unavailable'

/** Returns the path of a task's log file. */
export const taskLogFile = (directory: string, taskId: string): string =>
  path.join(directory, `${safeFileName(taskId)}.log`)

export function createTaskRunner(context: ServiceContext, access: InputAccess): TaskRunner {
  const { settings, logger, database, clock, stopping, faults } = context
  const capacity = settings.get('svc.worker.capacity')
  const storageDirectory = path.resolve(settings.get('svc.storage.storageDirectory'))
  const deepStorage = slowedBy(
    faults.diskDelayMs,
    createLocalDeepStorage({ rootDirectory: storageDirectory }),
  )
  const files = createAttemptFiles(context, deepStorage)
  const maxRunningByType = settings.get('svc.indexer.task.mostRunningByType')
  const running = new Map<string, AbortController>()
  let lastCompletedAt: number | undefined
  let receiver: TaskReceiver | undefined

  async function run(taskId: string): Promise<void> {
    if (stopping.aborted || running.has(taskId)) return
    const task = await loadTask(database, taskId)
    if (task === undefined) return
    const payload = await loadTaskPayload(database, taskId)
    const { name, host, plaintextPort, tlsPort } = context.node()
    const worker = { name, host, port: plaintextPort, tlsPort }
    const claim = await claimTaskWithNeeds(database, taskId, worker, claimMs, needsOf(task, payload))
    if (claim.kind !== 'claimed') return
    const { attempt, preempted } = claim
    const controller = new AbortController()
    running.set(taskId, controller)
    logger.info('Task started', { task: taskId, attempt, ...(preempted.length > 0 ? { preempted } : {}) })
    try {
      await runAttempt(task, payload, attempt, controller)
    } catch (error) {
      // The metadata store or the disk is unavailable: the claim expires, and the task runs again.
      logger.error('Task attempt failed; it will be retried', {
        task: taskId,
        attempt,
        error: describeError(error),
      })
    } finally {
      running.delete(taskId)
      lastCompletedAt = clock.now()
    }
  }

  function needsOf({ type, dataSource, priority }: StoredTask, payload: unknown): TaskNeeds {
    const maxRunning = maxRunningByType.get(type)
    // Kill and compact tasks must not run on the same interval; index tasks take intervals when they publish.
    const interval = isCompactTask(payload)
      ? parseCompactSpec(payload).interval
      : type === 'kill'
        ? parseKillSpec(payload).interval
        : undefined
    return {
      lock: interval && { dataSource, interval, priority },
      limit: maxRunning === undefined ? undefined : { type, maxRunning },
    }
  }

  async function runAttempt(
    { id: taskId, dataSource, priority }: StoredTask,
    payload: unknown,
    attempt: number,
    controller: AbortController,
  ): Promise<void> {
    const own: TaskAttempt = { taskId, dataSource, attempt }
    let progress: unknown
    const claim = startLoop(
      renewPeriodMs,
      async () => {
        if (!(await renewClaim(database, taskId, attempt, claimMs, progress))) controller.abort()
      },
      (error) =>
        logger.warn('Failed to renew the claim of a task', { task: taskId, error: describeError(error) }),
    )
    const fail = async (errorMessage: string): Promise<void> => {
      // Before the end is stored: if this worker dies here, the next attempt removes the files.
      await files.removeThrough(own)
      await finishAttempt(database, taskId, attempt, { state: 'FAILED', errorMessage, progress })
      logger.warn('Task failed', { task: taskId, attempt, error: errorMessage })
    }
    try {
      if (attempt > maxAttempts) {
        await fail(`The worker died during each of [${maxAttempts}] attempts`)
        return
      }
      if ((payload as { type?: unknown }).type === 'kill') {
        await runKill(taskId, attempt, payload, controller.signal)
        return
      }
      // Since this attempt could be claimed, no earlier one has been or will be published.
      await files.removeBefore(own)
      const job = await prepare(payload).catch(async (error) => {
        if (isTroubleElsewhere(error)) throw error
        await fail(describeError(error))
      })
      if (job === undefined) return
      const end = await runWork(own, job, controller.signal, (next) => {
        progress = next
      })
      if (end.kind === 'failed') await fail(end.message)
      else if (end.kind === 'died' && !controller.signal.aborted) {
        await fail(`The task process died (${end.how})`)
      } else if (end.kind === 'died') {
        await files.removeThrough(own)
        logger.info('Task was canceled or preempted', { task: taskId, attempt })
      } else {
        await claim.stop()
        await publish({ ...own, priority, progress }, job, end, fail, controller.signal)
      }
    } finally {
      await claim.stop()
    }
  }

  /** Decides the work of a task, and how to publish its result. */
  async function prepare(payload: unknown): Promise<Job> {
    if (!isCompactTask(payload)) {
      const spec = parseIndexSpec(payload, access)
      return {
        work: { kind: 'index', payload, access, httpLimits: httpInputLimitsOf(settings) },
        threads: 1,
        publish: (publishing, end) => publishIndex(database, publishing, spec, end.segments, clock.now()),
      }
    }
    const spec = parseCompactSpec(payload)
    const prepared = await prepareCompaction(database, spec)
    const noColumns = { dimensions: [], metrics: [] }
    return {
      work: prepared.work,
      threads: Math.min(spec.slots, availableParallelism()),
      publish: (publishing, { segments, columns = noColumns }) =>
        publishCompaction(database, publishing, spec, prepared, { segments, columns }, clock.now()),
    }
  }

  async function runWork(
    own: TaskAttempt,
    { work, threads }: Job,
    signal: AbortSignal,
    onProgress: (progress: unknown) => void,
  ): Promise<PeonEnd> {
    if (work.kind === 'virtual') return await runVirtually(work, signal)
    const { taskId, attempt } = own
    const memoryLimitBytes = settings.get('svc.indexer.task.memoryLimit')
    const logFile = taskLogFile(settings.get('svc.indexer.logs.directory'), taskId)
    const order = {
      taskId,
      attempt,
      work,
      workDirectory: files.workDirectory(own),
      storageDirectory,
      pathPrefix: files.pathPrefix(own),
      memoryLimitBytes,
      threads,
      diskDelayMs: faults.diskDelayMs(),
    }
    try {
      await files.begin(own)
      return await runPeon(order, logFile, onProgress, signal)
    } catch (error) {
      // Another attempt would fail as well.
      if (isDiskFull(error)) return { kind: 'failed', message: describeError(error) }
      throw error
    }
  }

  /** Waits for the configured duration; reads and writes nothing. */
  async function runVirtually({ segments }: VirtualWork, signal: AbortSignal): Promise<PeonEnd> {
    await delay(settings.get('svc.simulation.compactionDuration'), undefined, { signal }).catch(
      () => undefined,
    )
    if (signal.aborted) return { kind: 'died', how: 'ended' }
    return { kind: 'done', segments }
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

  async function publish(
    own: TaskAttempt & PublishingAttempt,
    job: Job,
    end: Extract<PeonEnd, { kind: 'done' }>,
    fail: (errorMessage: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { taskId, attempt } = own
    try {
      let published = await job.publish(own, end)
      // Not a retry of the same work: the claim is renewed before each attempt, because another worker may have it.
      while (published === 'intervalTaken') {
        await delay(retryPublishingMs, undefined, { signal }).catch(() => undefined)
        if (!(await renewClaim(database, taskId, attempt, claimMs))) published = 'notTheAttempt'
        else published = await job.publish(own, end)
      }
      if (published === 'published') {
        await files.end(own)
        logger.info('Task succeeded', { task: taskId, attempt, segments: end.segments.length })
        return
      }
      logger.warn('Discarded the result of a task attempt that was superseded, canceled, or preempted', {
        task: taskId,
        attempt,
      })
      await files.removeThrough(own)
    } catch (error) {
      // If the plan rejects the result, the task fails; if the metadata store is unavailable, it is retried.
      if (isTroubleElsewhere(error)) throw error
      await fail(describeError(error))
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
      await releaseClaims(database, context.node().name)
      await files.removeFormer()
      if (capacity > 0) receiver = await receiveTasks(settings, capacity, run)
    },
    stop: async () => {
      for (const controller of running.values()) controller.abort()
      await receiver?.close()
      await releaseClaims(database, context.node().name).catch(() => undefined)
    },
  }
}
