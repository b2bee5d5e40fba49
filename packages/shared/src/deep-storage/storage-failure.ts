import { Failure, unavailable } from '@svc/domain/failure'
import { errorCode } from './durable-files.ts'

const damagedReason = 'damagedFile'
const diskFullReason = 'diskFull'

/** The failure for a file whose bytes are not those that were stored. Only another copy of the file can mend it. */
export function damagedFile(file: string, problem: string): Failure {
  return new Failure('internalServerError', `File[${file}] is damaged: ${problem}`, {
    reason: damagedReason,
    file,
  })
}

/** Whether the failure says that the bytes in deep storage are not those that were stored. */
export function isDamaged(error: unknown): boolean {
  return error instanceof Failure && error.context.reason === damagedReason
}

/** Whether the failure says that a disk has no room left. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Failure && error.context.reason === diskFullReason
}

const fullCodes = new Set(['ENOSPC', 'EDQUOT'])

/**
 * The failure for an operation that the operating system refused: `what` begins the sentence ("Deep storage[…]
 * cannot be read"). A full disk is told apart.
 */
export function storageFailure(what: string, file: string, error: unknown): Failure {
  if (error instanceof Failure) return error
  const code = errorCode(error)
  if (fullCodes.has(code)) {
    return unavailable(`${what}: no space is left on its disk`, { reason: diskFullReason, file }, error)
  }
  return unavailable(`${what}: ${code}`, { file }, error)
}
