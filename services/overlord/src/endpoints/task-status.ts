import { formatInstant } from '@svc/domain/time'
import type { StoredTask } from '@svc/shared/postgres'
import * as z from 'zod'

const location = z.object({ host: z.string().nullable(), port: z.int(), tlsPort: z.int() })
const taskState = z.enum(['RUNNING', 'SUCCESS', 'FAILED'])

/** The shape of a task in lists. */
export const taskShape = z
  .object({
    id: z.string(),
    groupId: z.string(),
    type: z.string(),
    createdTime: z.string(),
    queueInsertionTime: z.string(),
    statusCode: taskState,
    status: taskState,
    runnerStatusCode: z.enum(['WAITING', 'PENDING', 'RUNNING', 'NONE']),
    duration: z.int(),
    location,
    dataSource: z.string(),
    errorMsg: z.string().nullable(),
    progress: z.unknown().optional(),
  })
  .meta({ title: 'Task', description: '`duration` is in milliseconds; it is -1 until the task has finished' })

/** The shape of a short task status. */
export const taskStatusShape = z
  .object({
    id: z.string(),
    status: taskState,
    duration: z.int(),
    errorMsg: z.string().nullable(),
    location,
  })
  .meta({ title: 'TaskStatus' })

/** The shape of answers that name only a task. */
export const taskIdShape = z.object({ task: z.string() })

/** Returns a task as lists and statuses show it. */
export function describeTask(task: StoredTask) {
  const createdTime = formatInstant(task.createdAt)
  const statusCode = statusOf(task)
  return {
    id: task.shownId,
    groupId: task.groupId,
    type: task.type,
    createdTime,
    queueInsertionTime: createdTime,
    statusCode,
    status: statusCode,
    runnerStatusCode: runnerStatus(task),
    duration: task.durationMs ?? -1,
    location: locationOf(task),
    dataSource: task.dataSource,
    errorMsg: task.errorMessage,
    progress: task.progress,
  }
}

/** Returns the short status of a task, for requests about several tasks. */
export const describeTaskStatus = (task: StoredTask) => ({
  id: task.shownId,
  status: statusOf(task),
  duration: task.durationMs ?? -1,
  errorMsg: task.errorMessage,
  location: locationOf(task),
})

const statusOf = ({ state }: StoredTask) => (state === 'SUCCESS' || state === 'FAILED' ? state : 'RUNNING')

const locationOf = ({ workerHost, workerPort, workerTlsPort }: StoredTask) => ({
  host: workerHost,
  port: workerPort ?? -1,
  tlsPort: workerTlsPort ?? -1,
})

function runnerStatus({ state, waiting }: StoredTask): string {
  if (state === 'PENDING') return waiting ? 'WAITING' : 'PENDING'
  return state === 'RUNNING' ? 'RUNNING' : 'NONE'
}
