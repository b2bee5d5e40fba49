import { describeError, Failure, unavailable } from '@svc/domain/failure'

/** Returns the Failure for a home on a full disk. */
export const diskFull = (root: string): Failure =>
  unavailable(`No space left on the disk of [${root}]. Free up space, or select another home with --home.`)

/** A file system error in a home, as a Failure that says what to do; any other error is returned unchanged. */
export function storageFailure(error: unknown, root: string): unknown {
  if (error instanceof Failure || !(error instanceof Error)) return error
  const code = (error as NodeJS.ErrnoException).code
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return diskFull(root)
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return unavailable(
        `Failed to write to the home [${root}]: ${describeError(error)}. Select another home with --home.`,
      )
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ELOOP':
    case 'ENAMETOOLONG':
      return unavailable(
        `Failed to create the home [${root}]: ${describeError(error)}. Select another home with --home.`,
      )
    default:
      return error
  }
}
