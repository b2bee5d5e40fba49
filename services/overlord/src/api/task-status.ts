import { formatInstant } from '@svc/domain/time'
import type { StoredTask } from '@svc/shared/postgres'

/** A task as lists and statuses show it. */
export function describeTask(task: StoredTask) {
  const createdTime = formatInstant(task.createdAt)
  const statusCode = task.state === 'SUCCESS' || task.state === 'FAILED' ? task.state : 'RUNNING'
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
    location: { host: task.workerHost, port: task.workerPort ?? -1, tlsPort: task.workerTlsPort ?? -1 },
    dataSource: task.dataSource,
    errorMsg: task.errorMessage,
    progress: task.progress,
  }
}

function runnerStatus({ state, waiting }: StoredTask): string {
  if (state === 'PENDING') return waiting ? 'WAITING' : 'PENDING'
  return state === 'RUNNING' ? 'RUNNING' : 'NONE'
}
