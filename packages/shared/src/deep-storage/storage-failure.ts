import { Failure, unavailable } from '@svc/domain/failure'
import { errorCode } from './durable-files.ts'

const damagedReason = 'damagedFile'
/** The reason in the context of a Failure for a full disk or store. */
export const diskFullReason = 'diskFull'

/** Returns the Failure for a file whose bytes differ from those stored. Only another copy of the file can fix this. */
export function damagedFile(file: string, problem: string): Failure {
  return new Failure('internalServerError', `File [${file}] is damaged: ${problem}`, {
    reason: damagedReason,
    file,
  })
}

/** Whether the error says that the bytes of a file differ from those stored. */
export function isDamaged(error: unknown): boolean {
  return error instanceof Failure && error.context.reason === damagedReason
}

/** Whether the error says that a disk is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Failure && error.context.reason === diskFullReason
}

const fullCodes = new Set(['ENOSPC', 'EDQUOT'])

/**
 * Returns the Failure for an operation that the operating system rejected. `what` starts the sentence ("Failed to read
 * deep storage […]"). isDiskFull recognizes the Failure for a full disk.
 */
export function storageFailure(what: string, file: string, error: unknown): Failure {
  if (error instanceof Failure) return error
  const code = errorCode(error)
  if (fullCodes.has(code)) {
    return unavailable(`${what}: no space left on the disk`, { reason: diskFullReason, file }, error)
  }
  return unavailable(`${what}: ${code}`, { file }, error)
}
