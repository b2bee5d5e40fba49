import { formatInstant } from '@svc/domain/time'
import type { StoredTask } from '@svc/shared/postgres'

/** A task as lists and statuses show it. */
export function describeTask(task: StoredTask) {
  const createdTime = formatInstant(task.createdAt)
  const statusCode = statusOf(task)
  return {
    id: task.id,
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

/** The same in short, as it is told of several tasks at once. */
export const describeTaskStatus = (task: StoredTask) => ({
  id: task.id,
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
