import { describeError, Failure } from '@svc/domain/failure'

/** The exit statuses. They mean the same for every command, so that scripts can branch on them. */
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

/** Prints the error to stderr and returns the exit status: 2 for invalid usage, 1 for anything else. */
export function exitStatusOf(error: unknown): 1 | 2 {
  if (error instanceof Failure) {
    process.stderr.write(`svc: ${error.message}\n`)
    return error.code === 'invalidInput' ? 2 : 1
  }
  // An unexpected error is a bug; its stack helps to fix it.
  process.stderr.write(`svc: ${describeError(error)}\n${error instanceof Error ? `${error.stack}\n` : ''}`)
  return 1
}
