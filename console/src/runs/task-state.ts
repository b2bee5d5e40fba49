import type { TaskStatus } from '../cluster/index.ts'

/** Returns the state of a task in one word. */
export function stateOf({ status, runnerStatusCode }: TaskStatus): string {
  if (status === 'SUCCESS') return 'succeeded'
  return status === 'FAILED' ? 'failed' : runnerStatusCode.toLowerCase()
}

/** Whether a worker has started a task, so that there is a log. */
export const hasStarted = ({
  status,
  runnerStatusCode,
  location,
}: Pick<TaskStatus, 'status' | 'runnerStatusCode' | 'location'>): boolean =>
  status === 'RUNNING'
    ? runnerStatusCode !== 'WAITING' && runnerStatusCode !== 'PENDING'
    : location.host !== null

/** Returns the address of the worker of a task. Without TLS, its TLS port is -1. */
export const addressOf = ({ host, port, tlsPort }: TaskStatus['location']): string =>
  `${host}:${tlsPort > 0 ? tlsPort : port}`
