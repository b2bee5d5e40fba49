import { countOf, formatDuration } from '../text/index.ts'
import { formatInstant, formatInterval, type Interval, overlaps } from '../time/index.ts'

/** A task to explain. Times are epoch milliseconds. */
export interface ExplainedTask {
  readonly state: 'PENDING' | 'RUNNING' | 'SUCCESS' | 'FAILED'
  readonly type: string
  readonly dataSource: string
  readonly priority: number
  /** How often a worker has started it. */
  readonly attempt: number
  /** Host and port of the server that runs it or ran it last. */
  readonly worker: string | null
  readonly startedAt: number | null
  readonly durationMs: number | null
  readonly errorMessage: string | null
}

/** A lock on an interval of the task's datasource. */
export interface ExplainedLock {
  readonly taskId: string
  readonly interval: Interval
  readonly priority: number
}

/** What the start of a task depends on. */
export interface TaskSurroundings {
  /** The interval of its datasource that no other task may write at the same time; undefined if the task needs no lock. */
  readonly lockedInterval: Interval | undefined
  /** The locks of running tasks of its datasource. */
  readonly locks: readonly ExplainedLock[]
  /** The max number of running tasks of its type, and how many are running; undefined if there is no such limit. */
  readonly limit: { readonly maxRunning: number; readonly running: number } | undefined
  /** Task slots of the cluster, and how many are in use. */
  readonly slots: number
  readonly usedSlots: number
  /** How many pending tasks are started before this one. */
  readonly ahead: number
  /** Whether the caller may know how many tasks of other datasources run or wait, and how many slots the cluster has. */
  readonly seesCluster: boolean
}

/** Says why a task is pending, what it is doing, or why it failed. */
export function explainTask(task: ExplainedTask, surroundings: TaskSurroundings): string[] {
  switch (task.state) {
    case 'PENDING':
      return explainPending(task, surroundings)
    case 'RUNNING':
      return explainRunning(task, surroundings)
    case 'SUCCESS':
      return [`The task succeeded${attemptText(task)}`]
    case 'FAILED':
      return [
        task.attempt === 0
          ? 'The task failed before a worker started it'
          : `The task failed${task.durationMs === null ? '' : ` after ${formatDuration(task.durationMs)}`}${attemptText(task)}`,
        ...(task.errorMessage === null ? [] : [task.errorMessage]),
      ]
  }
}

function explainPending(task: ExplainedTask, surroundings: TaskSurroundings): string[] {
  const { limit, slots, usedSlots, ahead, seesCluster } = surroundings
  const obstacles = [
    ...(limit && limit.running >= limit.maxRunning
      ? [
          seesCluster
            ? `${countOf(limit.running, 'task')} of type [${task.type}] ${limit.running === 1 ? 'is' : 'are'} running, the maximum in [svc.indexer.task.maxRunningByType]`
            : `The maximum number of tasks of type [${task.type}] in [svc.indexer.task.maxRunningByType] are running`,
        ]
      : []),
    ...blockersOf(task, surroundings).map(
      ({ taskId, interval, priority }) =>
        `Task [${taskId}] has locked [${formatInterval(interval)}] with priority [${priority}]; this task has priority [${task.priority}], and only a higher priority preempts that lock`,
    ),
    ...(slots === 0
      ? ['No server has task slots: set [svc.worker.capacity] on an overlord or worker']
      : usedSlots >= slots
        ? [`All task slots of the cluster are in use${seesCluster ? ` (${slots})` : ''}`]
        : []),
  ]
  const queue =
    !seesCluster || ahead === 0
      ? []
      : [
          `${countOf(ahead, 'pending task')} with a higher priority, or with the same priority and created earlier, ${ahead === 1 ? 'starts' : 'start'} first`,
        ]
  if (obstacles.length === 0 && queue.length === 0)
    return [
      seesCluster
        ? 'Nothing holds the task back: a worker starts it within seconds'
        : 'Nothing that you may read holds the task back; tasks of other datasources may start first',
    ]
  return ['The task is waiting', ...obstacles, ...queue]
}

/** Returns the locks that a task waits for. */
const blockersOf = (
  { priority }: ExplainedTask,
  { lockedInterval, locks }: TaskSurroundings,
): readonly ExplainedLock[] =>
  lockedInterval === undefined
    ? []
    : locks.filter((lock) => lock.priority >= priority && overlaps(lock.interval, lockedInterval))

function explainRunning(task: ExplainedTask, { lockedInterval }: TaskSurroundings): string[] {
  const since = task.startedAt === null ? '' : ` since ${formatInstant(task.startedAt)}`
  return [
    `The task is running on [${task.worker}]${since}`,
    ...(task.attempt > 1
      ? [
          `This is attempt ${task.attempt}: its earlier workers stopped or lost the metadata store before the task ended`,
        ]
      : []),
    ...(lockedInterval === undefined
      ? []
      : [
          `It has locked [${formatInterval(lockedInterval)}] with priority [${task.priority}]; a task with a higher priority may preempt it`,
        ]),
  ]
}

const attemptText = ({ attempt, worker }: ExplainedTask): string =>
  `${worker === null ? '' : ` on [${worker}]`}${attempt > 1 ? `, in attempt ${attempt}` : ''}`
