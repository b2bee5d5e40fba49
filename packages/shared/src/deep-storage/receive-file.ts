import { randomUUID } from 'node:crypto'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Failure } from '@svc/domain/failure'
import { syncDirectory } from './durable-files.ts'
import type { FileChecksum } from './file-checksum.ts'
import { damagedFile, storageFailure } from './storage-failure.ts'

/** Returns the Failure for a local file that cannot be read. */
export const unreadableFile = (file: string, error: unknown): Failure =>
  storageFailure(`Failed to read file [${file}]`, file, error)

/** Returns the Failure for a local file that cannot be written. */
export const unwritableFile = (file: string, error: unknown): Failure =>
  storageFailure(`Failed to write file [${file}]`, file, error)

/** Creates a file, and returns what `write` returns once its content would survive a power failure. */
export async function writeDurably<Result>(
  file: string,
  write: (output: FileHandle) => Promise<Result>,
): Promise<Result> {
  const output = await open(file, 'wx')
  try {
    const result = await write(output)
    await output.sync()
    return result
  } finally {
    await output.close()
  }
}

/**
 * Writes a local file that appears complete or not at all. Throws the Failures of `write`, the signal's reason, or an
 * unavailable Failure (with isDiskFull if the disk is full).
 */
export async function receiveFile<Result>(
  destinationFile: string,
  signal: AbortSignal | undefined,
  write: (output: FileHandle) => Promise<Result>,
): Promise<Result> {
  const temporary = `${destinationFile}.${randomUUID()}.tmp`
  try {
    const result = await writeDurably(temporary, write)
    await rename(temporary, destinationFile)
    await syncDirectory(dirname(destinationFile))
    return result
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    throw signal?.aborted === true && error === signal.reason ? error : unwritableFile(destinationFile, error)
  }
}

/** Throws if the bytes differ from those that were stored. */
export function assertUndamaged(found: FileChecksum, path: string, expected: FileChecksum): void {
  const { sizeBytes, checksum } = expected
  if (found.sizeBytes !== sizeBytes) {
    const more = found.sizeBytes > sizeBytes ? 'more' : `[${found.sizeBytes}]`
    throw damagedFile(path, `expected [${sizeBytes}] bytes but found ${more}`)
  }
  if (found.checksum !== checksum) {
    throw damagedFile(path, `expected checksum [${checksum}] but found [${found.checksum}]`)
  }
}
