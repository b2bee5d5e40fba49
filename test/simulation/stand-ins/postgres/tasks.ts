import { overlaps } from '@svc/domain/time'
import * as real from '@svc/shared/postgres'
import { statement } from './database.ts'
import { lockDatasource } from './segments.ts'
import type { StoreView } from './store.ts'
import type { TaskEntry } from './tables.ts'

const isUnfinished = ({ state }: TaskEntry): boolean => state === 'PENDING' || state === 'RUNNING'
const tasksOf = (view: StoreView): TaskEntry[] => view.rows(view.tables.tasks)

function stored(entry: TaskEntry): real.StoredTask {
  const { payload: _, claimedUntil: __, compaction: ___, ...task } = entry
  return { ...task, shownId: real.shownTaskId(task.id) }
}

const newestFirst = (a: TaskEntry, b: TaskEntry): number =>
  b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1)

/** The columns for compaction, which the product derives from the payload. */
function compactionOf(type: string, payload: unknown): TaskEntry['compaction'] {
  if (type !== 'compact') return { interval: null, origin: null }
  const { ioConfig, context } = payload as {
    readonly ioConfig?: { readonly inputSpec?: { readonly interval?: string } }
    readonly context?: { readonly compaction?: object } | null
  }
  return { interval: ioConfig?.inputSpec?.interval ?? null, origin: context?.compaction ?? null }
}

export const saveTask: typeof real.saveTask = (queries, task) =>
  statement(queries, (view) => {
    const { tasks } = view.tables
    if (view.claim(tasks, task.id) !== undefined) return false
    view.put(tasks, task.id, {
      ...task,
      payload: JSON.parse(JSON.stringify(task.payload)),
      createdAt: view.startedAt,
      state: 'PENDING',
      attempt: 0,
      worker: null,
      workerHost: null,
      workerPort: null,
      workerTlsPort: null,
      claimedUntil: null,
      startedAt: null,
      finishedAt: null,
      durationMs: null,
      progress: null,
      errorMessage: null,
      waiting: false,
      compaction: compactionOf(task.type, task.payload),
    })
    return true
  })

export const countRunningTasks: typeof real.countRunningTasks = (queries) =>
  statement(queries, (view) => tasksOf(view).filter(({ state }) => state === 'RUNNING').length)

export const countUnfinishedTasks: typeof real.countUnfinishedTasks = (queries, type) =>
  statement(queries, (view) => {
    const counts = new Map<string, number>()
    for (const task of tasksOf(view))
      if (isUnfinished(task) && task.type === type)
        counts.set(task.dataSource, (counts.get(task.dataSource) ?? 0) + 1)
    return counts
  })

export const loadTask: typeof real.loadTask = (queries, id) =>
  statement(queries, (view) => {
    const task = view.get(view.tables.tasks, id)
    return task && stored(task)
  })

export const loadTasksShownAs: typeof real.loadTasksShownAs = (queries, id) =>
  statement(queries, (view) =>
    tasksOf(view)
      .filter((task) => real.shownTaskId(task.id) === id)
      .sort(newestFirst)
      .map(stored),
  )

export const loadTaskPayload: typeof real.loadTaskPayload = (queries, id) =>
  statement(queries, (view) => view.get(view.tables.tasks, id)?.payload)

const isUnclaimed = (task: TaskEntry, now: number): boolean =>
  task.state === 'PENDING' || (task.state === 'RUNNING' && (task.claimedUntil ?? Infinity) < now)

export const loadUnclaimedTasks: typeof real.loadUnclaimedTasks = (queries, limit) =>
  statement(queries, (view) =>
    tasksOf(view)
      .filter((task) => isUnclaimed(task, view.now))
      .sort((a, b) => b.priority - a.priority || a.createdAt - b.createdAt)
      .slice(0, limit)
      .map(stored),
  )

export const loadUnclaimedTasksAfter: typeof real.loadUnclaimedTasksAfter = (queries, id, limit) =>
  statement(queries, (view) =>
    tasksOf(view)
      .filter((task) => isUnclaimed(task, view.now) && task.id > id)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, limit)
      .map(stored),
  )

export const claimTask: typeof real.claimTask = (queries, id, worker, claimMs) =>
  statement(queries, (view) => {
    const { tasks } = view.tables
    const found = view.get(tasks, id)
    if (found === undefined || !isUnclaimed(found, view.now)) return undefined
    const task = view.claim(tasks, id)
    if (task === undefined || !isUnclaimed(task, view.now)) return undefined
    const attempt = task.attempt + 1
    view.put(tasks, id, {
      ...task,
      state: 'RUNNING',
      waiting: false,
      attempt,
      worker: worker.name,
      workerHost: worker.host,
      workerPort: worker.port,
      workerTlsPort: worker.tlsPort,
      startedAt: view.now,
      claimedUntil: view.now + claimMs,
    })
    return attempt
  })

export const claimTaskWithNeeds: typeof real.claimTaskWithNeeds = (
  database,
  id,
  worker,
  claimMs,
  { lock, limit },
) =>
  database
    .transaction(async (transaction): Promise<real.TaskClaim> => {
      if (limit && !(await isBelowLimit(transaction, id, limit))) return await waits(transaction, id)
      const preempted = lock ? await takeInterval(transaction, id, lock) : []
      if (preempted === undefined) return await waits(transaction, id)
      const attempt = await claimTask(transaction, id, worker, claimMs)
      if (attempt === undefined) throw new NotClaimed()
      if (lock) {
        await statement(transaction, (view) => {
          if (view.claim(view.tables.locks, id) === undefined)
            view.put(view.tables.locks, id, { taskId: id, ...lock })
        })
      }
      return { kind: 'claimed', attempt, preempted }
    })
    .catch((error: unknown): real.TaskClaim => {
      if (error instanceof NotClaimed) return { kind: 'gone' }
      throw error
    })

class NotClaimed extends Error {}

async function waits(transaction: real.Transaction, id: string): Promise<real.TaskClaim> {
  await statement(transaction, (view) => {
    const task = view.get(view.tables.tasks, id)
    if (task?.state === 'PENDING' && !task.waiting)
      view.put(view.tables.tasks, id, { ...task, waiting: true })
  })
  return { kind: 'waiting' }
}

async function isBelowLimit(
  transaction: real.Transaction,
  id: string,
  { type, maxRunning }: { readonly type: string; readonly maxRunning: number },
): Promise<boolean> {
  await statement(transaction, (view) => view.lock(`tasks of type ${type}`))
  const running = await statement(transaction, (view) =>
    tasksOf(view).filter(
      (task) =>
        task.state === 'RUNNING' &&
        task.type === type &&
        task.id !== id &&
        (task.claimedUntil ?? 0) > view.now,
    ),
  )
  return running.length < maxRunning
}

export const takeInterval: typeof real.takeInterval = async (
  transaction,
  id,
  { dataSource, interval, priority },
) => {
  await lockDatasource(transaction, dataSource)
  const others = await statement(transaction, (view) =>
    view
      .rows(view.tables.locks)
      .filter(
        (lock) =>
          lock.dataSource === dataSource &&
          lock.taskId !== id &&
          overlaps(lock.interval, interval) &&
          view.get(view.tables.tasks, lock.taskId)?.state === 'RUNNING',
      ),
  )
  if (others.some((other) => other.priority >= priority)) return undefined
  for (const { taskId } of others) {
    const message = `Preempted by task [${real.shownTaskId(id)}] with higher priority [${priority}]`
    await cancelTask(transaction, taskId, message)
  }
  return others.map(({ taskId }) => taskId)
}

export const loadTaskLocks: typeof real.loadTaskLocks = (queries) =>
  statement(queries, (view) =>
    view
      .rows(view.tables.locks)
      .filter(({ taskId }) => view.get(view.tables.tasks, taskId)?.state === 'RUNNING')
      .sort((a, b) => (a.taskId < b.taskId ? -1 : 1))
      .map((lock) => ({ ...lock, taskId: real.shownTaskId(lock.taskId) })),
  )

/** Changes a running attempt. Returns false if it was superseded or has ended. */
function changeAttempt(
  view: StoreView,
  id: string,
  attempt: number,
  change: (task: TaskEntry) => Partial<TaskEntry>,
): boolean {
  const { tasks } = view.tables
  const isIt = (task: TaskEntry | undefined): task is TaskEntry =>
    task?.attempt === attempt && task.state === 'RUNNING'
  if (!isIt(view.get(tasks, id))) return false
  const task = view.claim(tasks, id)
  if (!isIt(task)) return false
  view.put(tasks, id, { ...task, ...change(task) })
  return true
}

const progressIn = (progress: unknown): { progress?: unknown } =>
  progress === undefined || progress === null ? {} : { progress: JSON.parse(JSON.stringify(progress)) }

export const renewClaim: typeof real.renewClaim = (queries, id, attempt, claimMs, progress) =>
  statement(queries, (view) =>
    changeAttempt(view, id, attempt, () => ({ claimedUntil: view.now + claimMs, ...progressIn(progress) })),
  )

export const releaseClaims: typeof real.releaseClaims = (queries, workerName) =>
  statement(queries, (view) => {
    for (const task of tasksOf(view))
      if (task.worker === workerName && task.state === 'RUNNING')
        changeAttempt(view, task.id, task.attempt, () => ({ claimedUntil: Number.NEGATIVE_INFINITY }))
  })

const durationOf = ({ startedAt }: TaskEntry, now: number): number =>
  startedAt === null ? 0 : Math.round(now - startedAt)

export const finishAttempt: typeof real.finishAttempt = async (queries, id, attempt, end) => {
  const isFinished = await statement(queries, (view) =>
    changeAttempt(view, id, attempt, (task) => ({
      state: end.state,
      errorMessage: end.errorMessage,
      finishedAt: view.now,
      durationMs: durationOf(task, view.now),
      claimedUntil: null,
      ...progressIn(end.progress),
    })),
  )
  if (isFinished) await statement(queries, (view) => view.remove(view.tables.locks, id))
  return isFinished
}

export const cancelTask: typeof real.cancelTask = async (queries, id, errorMessage) => {
  const isCanceled = await statement(queries, (view) => {
    const { tasks } = view.tables
    const found = view.get(tasks, id)
    if (found === undefined || !isUnfinished(found)) return false
    const task = view.claim(tasks, id)
    if (task === undefined || !isUnfinished(task)) return false
    view.put(tasks, id, {
      ...task,
      state: 'FAILED',
      waiting: false,
      errorMessage,
      finishedAt: view.now,
      durationMs: durationOf(task, view.now),
      claimedUntil: null,
    })
    return true
  })
  if (isCanceled) await statement(queries, (view) => view.remove(view.tables.locks, id))
  return isCanceled
}

export const loadCompactTasks: typeof real.loadCompactTasks = (queries, since) =>
  statement(queries, (view) =>
    tasksOf(view)
      .filter((task) => task.type === 'compact' && (isUnfinished(task) || task.createdAt > since))
      .map(({ id, dataSource, state, createdAt, finishedAt, durationMs, startedAt, compaction }) => ({
        id: real.shownTaskId(id),
        dataSource,
        state,
        finishedAt,
        waitMs: Math.round((startedAt ?? finishedAt ?? view.now) - createdAt),
        durationMs: durationMs ?? (startedAt === null ? null : Math.round(view.now - startedAt)),
        ...compaction,
      })),
  )
