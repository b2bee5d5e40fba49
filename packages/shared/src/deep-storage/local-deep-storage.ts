import { randomUUID } from 'node:crypto'
import { type FileHandle, open, opendir, readdir, realpath, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { conflict, invalidInput, notFound } from '@svc/domain/failure'
import type { LoadSpec } from '@svc/domain/segment'
import { createDirectory, errorCode, syncDirectory } from './durable-files.ts'
import { type FileChecksum, streamWithChecksum } from './file-checksum.ts'
import { datasourceFolder, taskFolder } from './segment-path.ts'
import { damagedFile, storageFailure } from './storage-failure.ts'

/** A file in deep storage. The path is relative to its root and uses `/` as the separator. */
export interface StoredFile extends FileChecksum {
  readonly path: string
}

/** Permanent storage of segment files. */
export interface DeepStorage {
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

// Files being pushed. The file of a killed writer stays until a later push finds it old enough to remove.
const incomingDirectory = '.incoming'
const abandonedAfterMs = 24 * 3_600_000
// A concurrent removal may delete the folder that a push has just created.
const pushAttempts = 20

function refusePath(path: string): never {
  throw invalidInput(
    `Invalid value [${path}] for [loadSpec.path]: expected a path inside deep storage such as [wiki/2026/0.parquet]`,
    { field: 'loadSpec.path' },
  )
}

function resolveInside(root: string, path: string): string {
  const parts = path.split('/')
  const stays = parts.every((part) => part !== '' && part !== '.' && part !== '..')
  if (!stays || parts[0] === incomingDirectory || /[\0\\]/.test(path)) refusePath(path)
  return join(root, ...parts)
}

const isInside = (root: string, file: string): boolean =>
  file.startsWith(root.endsWith(sep) ? root : root + sep)

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false
}

/** Creates deep storage in a folder of a file system that all servers share. The first push creates the folder. */
export function createLocalDeepStorage({ rootDirectory }: { rootDirectory: string }): DeepStorage {
  const root = resolve(rootDirectory)
  const incoming = join(root, incomingDirectory)
  const unreadable = (error: unknown) => storageFailure(`Deep storage[${root}] cannot be read`, root, error)
  const unwritable = (error: unknown) =>
    storageFailure(`Deep storage[${root}] cannot be written`, root, error)
  let swept = false

  // A symbolic link inside the storage must not lead outside of it.
  async function realInside(path: string, relativePath: string): Promise<string> {
    const [realRoot, real] = await Promise.all([realpath(root), realpath(path)])
    if (real !== realRoot && !isInside(realRoot, real)) refusePath(relativePath)
    return real
  }

  async function sweepAbandoned(): Promise<void> {
    if (swept) return
    swept = true
    for (const name of await readdir(incoming)) {
      const file = join(incoming, name)
      const found = await stat(file).catch(() => undefined)
      if (found !== undefined && Date.now() - found.mtimeMs > abandonedAfterMs)
        await rm(file, { force: true })
    }
  }

  async function moveIntoPlace(temporary: string, target: string, relativePath: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await createDirectory(dirname(target))
        await realInside(dirname(target), relativePath)
        await rename(temporary, target)
        await syncDirectory(dirname(target))
        return
      } catch (error) {
        if (errorCode(error) !== 'ENOENT' || attempt === pushAttempts) throw error
      }
    }
  }

  async function missing(loadSpec: LoadSpec, error: unknown): Promise<unknown> {
    const code = errorCode(error)
    if ((code === 'ENOENT' || code === 'ENOTDIR') && (await isDirectory(root))) {
      return notFound(`File [${loadSpec.path}] is not in deep storage [${root}]`, { file: loadSpec.path })
    }
    return unreadable(error)
  }

  async function openStored(loadSpec: LoadSpec): Promise<FileHandle> {
    const path = resolveInside(root, loadSpec.path)
    try {
      const source = await open(await realInside(path, loadSpec.path), 'r')
      if ((await source.stat()).isFile()) return source
      await source.close()
      return refusePath(loadSpec.path)
    } catch (error) {
      throw await missing(loadSpec, error)
    }
  }

  /** Returns whether the folder existed. */
  async function removeFolder(directory: string): Promise<boolean> {
    try {
      await rm(directory, { recursive: true })
      return true
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return false
      throw error
    }
  }

  async function removeEmptyFolders(from: string): Promise<void> {
    for (let directory = from; isInside(root, directory); directory = dirname(directory)) {
      try {
        await rmdir(directory)
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') return
      }
    }
  }

  return {
    push: async (localFile, relativePath) => {
      const target = resolveInside(root, relativePath)
      const cannotRead = (error: unknown) =>
        storageFailure(`File [${localFile}] cannot be read`, localFile, error)
      const source = await open(localFile, 'r').catch((error) => {
        throw cannotRead(error)
      })
      const temporary = join(incoming, randomUUID())
      try {
        await createDirectory(incoming)
        await sweepAbandoned()
        const output = await open(temporary, 'wx')
        let pushed: FileChecksum
        try {
          pushed = await streamWithChecksum(source, output, { read: cannotRead, write: unwritable })
          await output.sync()
        } finally {
          await output.close()
        }
        await moveIntoPlace(temporary, target, relativePath)
        return { path: relativePath, ...pushed }
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => {})
        throw unwritable(error)
      } finally {
        await source.close()
      }
    },

    fetch: async (loadSpec, sizeBytes, destinationFile, signal) => {
      if (loadSpec.type === 'virtual')
        throw conflict('A virtual segment has no file: only virtual servers can load it')
      const noRoom = (error: unknown) =>
        storageFailure(`File [${destinationFile}] cannot be written`, destinationFile, error)
      const source = await openStored(loadSpec)
      const temporary = `${destinationFile}.${randomUUID()}.tmp`
      try {
        const output = await open(temporary, 'wx').catch((error) => {
          throw noRoom(error)
        })
        let found: FileChecksum
        try {
          const errors = { read: unreadable, write: noRoom }
          found = await streamWithChecksum(source, output, errors, { signal, maxBytes: sizeBytes })
          if (found.sizeBytes !== sizeBytes) {
            const more = found.sizeBytes > sizeBytes ? 'more' : `${found.sizeBytes}`
            throw damagedFile(loadSpec.path, `expected [${sizeBytes}] bytes but found [${more}]`)
          }
          if (found.checksum !== loadSpec.checksum) {
            throw damagedFile(
              loadSpec.path,
              `expected checksum [${loadSpec.checksum}] but found [${found.checksum}]`,
            )
          }
          await output.sync()
        } finally {
          await output.close()
        }
        await rename(temporary, destinationFile)
        await syncDirectory(dirname(destinationFile))
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => {})
        throw signal?.aborted === true && error === signal.reason ? error : noRoom(error)
      } finally {
        await source.close()
      }
    },

    remove: async (loadSpec) => {
      if (loadSpec.type === 'virtual') return
      const target = resolveInside(root, loadSpec.path)
      try {
        const directory = await realInside(dirname(target), loadSpec.path)
        await rm(join(directory, loadSpec.path.split('/').at(-1) as string), { force: true })
      } catch (error) {
        if (errorCode(error) !== 'ENOENT' || !(await isDirectory(root))) throw unwritable(error)
      }
      await removeEmptyFolders(dirname(target))
    },

    removeWritten: async (dataSource, pathPrefixes) => {
      const relativePath = datasourceFolder(dataSource)
      const folder = resolveInside(root, relativePath)
      const names = pathPrefixes.map(taskFolder)
      try {
        await realInside(folder, relativePath)
        for await (const interval of await opendir(folder)) {
          // Pushes create folders only, never links.
          if (!interval.isDirectory()) continue
          const within = join(folder, interval.name)
          const found = await Promise.all(names.map((name) => removeFolder(join(within, name))))
          // A concurrent push into the same folder creates it again.
          if (found.some(Boolean)) await rmdir(within).catch(() => {})
        }
      } catch (error) {
        if (errorCode(error) !== 'ENOENT' || !(await isDirectory(root))) throw unwritable(error)
      }
      await removeEmptyFolders(folder)
    },
  }
}
