import { conflict } from '@svc/domain/failure'
import type { LoadSpec } from '@svc/domain/segment'
import type { FileStore, StoredFile } from './file-store.ts'
import { createFolderStore } from './folder-store.ts'
import { datasourceFolder, taskFolder } from './segment-path.ts'

/** Permanent storage of segment files. */
export interface DeepStorage {
  /** The type of load specs of new segments. */
  readonly type: FileStore['type']
  /**
   * Copies a file into deep storage and resolves once it would survive a power failure. Atomically replaces a file that
   * already has this path. Throws an unavailable Failure (with isDiskFull if the disk is full) and leaves nothing
   * behind.
   */
  push(localFile: string, relativePath: string): Promise<StoredFile>
  /**
   * Copies a segment's file to `destinationFile`, which appears complete or not at all. Throws a Failure: notFound (the
   * file is not in storage), unavailable (storage cannot be read, or, with isDiskFull, the local disk is full), or one
   * for which isDamaged is true (the bytes differ from those pushed). Throws the signal's reason if aborted.
   */
  fetch(loadSpec: LoadSpec, sizeBytes: number, destinationFile: string, signal?: AbortSignal): Promise<void>
  /** Removes a segment's file and the folders that this leaves empty. Does nothing if the file is already gone. */
  remove(loadSpec: LoadSpec): Promise<void>
  /**
   * Removes all files of a datasource written under one of these `pathPrefix` values of segmentPath, and the folders
   * that this leaves empty. The caller ensures that no segment references these files and that their writers have
   * ended.
   */
  removeWritten(dataSource: string, pathPrefixes: readonly string[]): Promise<void>
}

/** Creates deep storage in a store of files. */
export function createDeepStorage(store: FileStore): DeepStorage {
  return {
    type: store.type,
    push: (localFile, relativePath) => store.put(localFile, relativePath),
    fetch: async ({ type, path, checksum }, sizeBytes, destinationFile, signal) => {
      if (type === 'virtual')
        throw conflict('A virtual segment has no file: only virtual servers can load it')
      await store.get(path, destinationFile, { expected: { sizeBytes, checksum }, signal })
    },
    remove: async ({ type, path }) => {
      if (type !== 'virtual') await store.remove(path)
    },
    removeWritten: (dataSource, pathPrefixes) =>
      store.removeSubfolders(datasourceFolder(dataSource), pathPrefixes.map(taskFolder)),
  }
}

/** Creates deep storage in a folder of a file system that all servers share. The first push creates the folder. */
export const createLocalDeepStorage = ({ rootDirectory }: { rootDirectory: string }): DeepStorage =>
  createDeepStorage(createFolderStore({ title: 'deep storage', rootDirectory }))
