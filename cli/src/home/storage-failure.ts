import { describeError, Failure, unavailable } from '@svc/domain/failure'

/** An error of the file system under a home, as one line that says what to do; other errors come back as they are. */
export function storageFailure(error: unknown, root: string): unknown {
  if (error instanceof Failure || !(error instanceof Error)) return error
  const code = (error as NodeJS.ErrnoException).code
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return unavailable(
        `No space is left on the disk of home [${root}]: make room, or choose another with --home`,
      )
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return unavailable(
        `Home [${root}] cannot be written: ${describeError(error)}; choose another with --home`,
      )
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ELOOP':
    case 'ENAMETOOLONG':
      return unavailable(
        `Home [${root}] cannot be a folder: ${describeError(error)}; choose another with --home`,
      )
    default:
      return error
  }
}
