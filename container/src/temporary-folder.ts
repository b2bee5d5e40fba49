import { accessSync, constants } from 'node:fs'
import path from 'node:path'
import { describeError, unavailable } from '@svc/domain/failure'
import { ownAddressFile } from './own-address.ts'

/** Throws a Failure that says what to do if the folder for temporary files, which the health check uses, is not writable. */
export function checkTemporaryFolder(folder = path.dirname(ownAddressFile)): void {
  try {
    accessSync(folder, constants.W_OK)
  } catch (error) {
    throw unavailable(
      `Folder [${folder}] is not writable: ${describeError(error)}. ` +
        `Mount a temporary file system there, for example with --tmpfs ${folder}:mode=1777.`,
    )
  }
}
