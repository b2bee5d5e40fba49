import { describeError, Failure } from '@svc/domain/failure'

/** Tells what went wrong on stderr and returns the exit status for it: 2 for wrong usage, 1 for all else. */
export function exitStatusOf(error: unknown): 1 | 2 {
  if (error instanceof Failure) {
    process.stderr.write(`svc: ${error.message}\n`)
    return error.code === 'invalidInput' ? 2 : 1
  }
  // Nothing that was foreseen: the stack helps whoever mends it.
  process.stderr.write(`svc: ${describeError(error)}\n${error instanceof Error ? `${error.stack}\n` : ''}`)
  return 1
}
