import type { TaskStatus } from '../cluster/index.ts'

/** Returns the state of a task in one word. */
export function stateOf({ status, runnerStatusCode }: TaskStatus): string {
  if (status === 'SUCCESS') return 'succeeded'
  return status === 'FAILED' ? 'failed' : runnerStatusCode.toLowerCase()
}
