import type { Readable } from 'node:stream'
import type { FileChecksum } from './file-checksum.ts'

/** A file in a store. The path is relative to its root and uses `/` as the separator. */
export interface StoredFile extends FileChecksum {
  readonly path: string
}

/** A file as a store lists it. */
export interface ListedFile {
  readonly path: string
  readonly sizeBytes: number
  /** When the file was written, in epoch milliseconds of the store's clock. */
  readonly modifiedAtMs: number
}

/** How to get a file. */
export interface GetOptions {
  /** If set, a file with other bytes is damaged. */
  readonly expected?: FileChecksum
  readonly signal?: AbortSignal | undefined
}

/**
 * Permanent storage of files that every server reaches: a shared folder, or S3. Every operation throws an unavailable
 * Failure if the store does not work, and invalidInput for a path that leads outside of it.
 */
export interface FileStore {
  /** The type of load specs of segments in this store. */
  readonly type: 'local' | 's3'
  /** Where the files are, for messages. */
  readonly location: string
  /**
   * Copies a file into the store and resolves once it would survive a power failure. Atomically replaces a file that
   * already has this path. On failure (with isDiskFull if the store is full), leaves nothing behind that would be read.
   */
  put(localFile: string, path: string): Promise<StoredFile>
  /**
   * Copies a stored file to `destinationFile`, which appears complete or not at all. Returns its size and checksum.
   * Throws a Failure: notFound (the file is not in the store), unavailable (with isDiskFull if the local disk is full),
   * or one for which isDamaged is true (the bytes are not the expected ones). Throws the signal's reason if aborted.
   */
  get(path: string, destinationFile: string, options?: GetOptions): Promise<FileChecksum>
  /** Returns bytes of a file from `start` up to `end`, which is excluded and greater than `start`. */
  read(path: string, start: number, end: number): Promise<Readable>
  /** Returns what is known about a file; undefined if it is not in the store. */
  find(path: string): Promise<ListedFile | undefined>
  /** Returns the files in a folder and its subfolders; `''` is the root. */
  list(folder: string): AsyncGenerator<ListedFile, void>
  /** Removes a file, and folders that this leaves empty. Does nothing if the file is already gone. */
  remove(path: string): Promise<void>
  /** Removes all files in folders with one of these names that are in a direct subfolder of `folder`. */
  removeSubfolders(folder: string, names: readonly string[]): Promise<void>
}
