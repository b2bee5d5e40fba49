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

/** Runs tasks in the slots of this server. */
export interface TaskRunner {
  readonly capacity: number
  /** The ids of the tasks that run here. */
  running(): readonly string[]
  /** Ends a task, whose end has been stored already, if it runs here, and removes what it has written. */
  cancel(task: StoredTask): void
  lastCompletedAt(): number | undefined
  start(): Promise<void>
  /** Gives the tasks that run here back, for another worker or the next start. */
  stop(): Promise<void>
}

// A worker that does not renew its claim for this long is taken for dead, and its task is run again.
const claimMs = 10_000
const renewPeriodMs = 2000
// How often a task looks whether another one that has its interval is over.
const retryPublishingMs = 1000
// Attempts that may end with the worker's death before a task counts as what kills it.
const mostAttempts = 5

/** What takes its time and is known at once: no process is needed for it. */
type VirtualWork = Extract<PreparedCompaction['work'], { kind: 'virtual' }>

interface Job {
  readonly work: PeonWork | VirtualWork
  readonly threads: number
  publish(attempt: PublishingAttempt, end: Extract<PeonEnd, { kind: 'done' }>): Promise<PublishedState>
}

/** Whether an error says nothing of the task itself: another attempt may succeed. */
const isTroubleElsewhere = (error: unknown): boolean =>
  !(error instanceof Failure) || error.code === 'unavailable'

/** The log of a task. */
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
  const mostRunningByType = settings.get('svc.indexer.task.mostRunningByType')
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
      // The store or the disk is away: the claim runs out, and the task is run again.
      logger.error('An attempt of a task broke off', { task: taskId, attempt, error: describeError(error) })
    } finally {
      running.delete(taskId)
      lastCompletedAt = clock.now()
    }
  }

  function needsOf({ type, dataSource, priority }: StoredTask, payload: unknown): TaskNeeds {
    const mostRunning = mostRunningByType.get(type)
    // What erases segments and what rewrites them must not meet; index tasks take intervals when they publish.
    const interval = isCompactTask(payload)
      ? parseCompactSpec(payload).interval
      : type === 'kill'
        ? parseKillSpec(payload).interval
        : undefined
    return {
      lock: interval && { dataSource, interval, priority },
      limit: mostRunning === undefined ? undefined : { type, mostRunning },
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
        logger.warn('The claim of a task was not renewed', { task: taskId, error: describeError(error) }),
    )
    const fail = async (errorMessage: string): Promise<void> => {
      // Before the end is stored: whoever dies here has a next attempt that removes it.
      await files.removeThrough(own)
      await finishAttempt(database, taskId, attempt, { state: 'FAILED', errorMessage, progress })
      logger.warn('Task failed', { task: taskId, attempt, error: errorMessage })
    }
    try {
      if (attempt > mostAttempts) {
        await fail(`The worker died in each of [${mostAttempts}] attempts`)
        return
      }
      if ((payload as { type?: unknown }).type === 'kill') {
        await runKill(taskId, attempt, payload, controller.signal)
        return
      }
      // That this attempt could be claimed says that none before it has been published, nor will be.
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
        await fail(`The process of the task died (${end.how})`)
      } else if (end.kind === 'died') {
        await files.removeThrough(own)
        logger.info('Task ended from outside', { task: taskId, attempt })
      } else {
        await claim.stop()
        await publish({ ...own, priority, progress }, job, end, fail, controller.signal)
      }
    } finally {
      await claim.stop()
    }
  }

  /** What a task has to do, and how what it has written is published. */
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
      // Another attempt would find the disk as full.
      if (isDiskFull(error)) return { kind: 'failed', message: describeError(error) }
      throw error
    }
  }

  /** Takes as long as is configured; nothing is read or written. */
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
      logger.warn('Nothing was published: another attempt of the task counts, or it was ended', {
        task: taskId,
        attempt,
      })
      await files.removeThrough(own)
    } catch (error) {
      // What the plan refuses is the task's own fault; what the store refuses may work another time.
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
      // Its worker may be dead; one that lives notices the end and removes what is written until then.
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
