import { describeError, Failure, type FailureCode } from '@svc/domain/failure'
import { stackOf } from '@svc/shared/runtime'
import { printMessage } from '../output/index.ts'

/** The exit statuses. Each has the same meaning for all commands, so that scripts can branch on them. */
export const exitStatus = {
  done: 0,
  failed: 1,
  invalidInput: 2,
  notKnown: 3,
  refused: 4,
  differs: 5,
  timedOut: 6,
  interrupted: 130,
} as const

/** The number of an exit status. */
export type ExitStatus = (typeof exitStatus)[keyof typeof exitStatus]

/** What each exit status means, for the help and for docs/commands.md. */
export const exitStatusMeanings: Readonly<Record<keyof typeof exitStatus, string>> = {
  done: 'done',
  failed: 'failed, or the cluster has a problem',
  invalidInput: 'invalid usage or input, such as an unknown name or an existing target',
  notKnown: 'cluster is stopped or starting, or its state is not known yet',
  refused: 'rejected login, missing permission, failed check, or unsupported command',
  differs: 'differences found',
  timedOut: 'timed out',
  interrupted: 'interrupted, for example by Ctrl-C',
}

const statusOfCode: Partial<Readonly<Record<FailureCode, ExitStatus>>> = {
  invalidInput: exitStatus.invalidInput,
  notFound: exitStatus.invalidInput,
  unauthorized: exitStatus.refused,
  forbidden: exitStatus.refused,
  requestTimedOut: exitStatus.timedOut,
  timedOut: exitStatus.timedOut,
  cancelled: exitStatus.interrupted,
}

/** Prints the error to stderr and returns the exit status. */
export function exitStatusOf(error: unknown): ExitStatus {
  if (error instanceof Failure) {
    printMessage(error.message)
    if (error.context.clusterState === 'notKnown') return exitStatus.notKnown
    if (error.context.status === '409') return exitStatus.refused
    return statusOfCode[error.code] ?? exitStatus.failed
  }
  // An unexpected error is a bug; its stack helps to fix it.
  process.stderr.write(`svc: ${describeError(error)}\n${error instanceof Error ? `${stackOf(error)}\n` : ''}`)
  return exitStatus.failed
}

/** The exit statuses as a list for the help. */
export function exitStatusHelp(): string {
  const lines = Object.entries(exitStatus).map(
    ([name, status]) =>
      `  ${String(status).padEnd(4)} ${exitStatusMeanings[name as keyof typeof exitStatus]}`,
  )
  return `\nExit status:\n${lines.join('\n')}`
}
