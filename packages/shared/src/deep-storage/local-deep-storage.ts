import { randomUUID } from 'node:crypto'
import { type FileHandle, open, opendir, readdir, realpath, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { conflict, invalidInput, notFound } from '@svc/domain/failure'
import type { LoadSpec } from '@svc/domain/segment'
import { errorCode, makeDirectory, syncDirectory } from './durable-files.ts'
import { type FileChecksum, streamWithChecksum } from './file-checksum.ts'
import { datasourceFolder, taskFolder } from './segment-path.ts'
import { damagedFile, storageFailure } from './storage-failure.ts'

/** A file in deep storage; the path is relative to its root and has `/` between its parts. */
export interface StoredFile extends FileChecksum {
  readonly path: string
}

/** Where segment files are kept for good. */
export interface DeepStorage {
  /**
   * Copies a file into deep storage and answers once it would survive a loss of power. A file already at that path
   * is replaced at one stroke. An unavailable failure, by isDiskFull no room, leaves nothing behind.
   */
  push(localFile: string, relativePath: string): Promise<StoredFile>
  /**
   * Copies a segment's file to `destinationFile`, which appears whole or not at all. Failures: notFound (storage is
   * there, the file is not), unavailable (storage cannot be read, or by isDiskFull no room here), one that isDamaged
   * tells (the bytes are not those that were pushed); or the signal's reason.
   */
  fetch(loadSpec: LoadSpec, sizeBytes: number, destinationFile: string, signal?: AbortSignal): Promise<void>
  /** Removes a segment's file and the folders it leaves empty. A file that is gone already is no failure. */
  remove(loadSpec: LoadSpec): Promise<void>
  /**
   * Removes every file of a datasource that was written under one of these prefixes of segmentPath, and the folders
   * it leaves empty. The caller knows that no segment names them and that whoever wrote them has ended.
   */
  removeWritten(dataSource: string, pathPrefixes: readonly string[]): Promise<void>
}

// Files on their way in. One whose writer was killed stays until a later push finds it old enough.
const incomingDirectory = '.incoming'
const abandonedAfterMs = 24 * 3_600_000
// A removal may take away the folder that a push has just made.
const pushAttempts = 20

function refusePath(path: string): never {
  throw invalidInput(
    `loadSpec.path has the value [${path}]; allowed is a path inside deep storage such as [wiki/2026/0.parquet]`,
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

/** Deep storage in a folder of a file system that all servers share. The folder is created by the first push. */
export function createLocalDeepStorage({ rootDirectory }: { rootDirectory: string }): DeepStorage {
  const root = resolve(rootDirectory)
  const incoming = join(root, incomingDirectory)
  const unreadable = (error: unknown) => storageFailure(`Deep storage[${root}] cannot be read`, root, error)
  const unwritable = (error: unknown) =>
    storageFailure(`Deep storage[${root}] cannot be written`, root, error)
  let swept = false

  // A link inside the storage must not lead a path out of it.
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
        await makeDirectory(dirname(target))
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
      return notFound(`File[${loadSpec.path}] is not in deep storage[${root}]`, { file: loadSpec.path })
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

  /** Whether there was one. */
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
        storageFailure(`File[${localFile}] cannot be read`, localFile, error)
      const source = await open(localFile, 'r').catch((error) => {
        throw cannotRead(error)
      })
      const temporary = join(incoming, randomUUID())
      try {
        await makeDirectory(incoming)
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
        throw conflict('A virtual segment has no file; only virtual servers load it')
      const noRoom = (error: unknown) =>
        storageFailure(`File[${destinationFile}] cannot be written`, destinationFile, error)
      const source = await openStored(loadSpec)
      const temporary = `${destinationFile}.${randomUUID()}.tmp`
      try {
        const output = await open(temporary, 'wx').catch((error) => {
          throw noRoom(error)
        })
        let found: FileChecksum
        try {
          const errors = { read: unreadable, write: noRoom }
          found = await streamWithChecksum(source, output, errors, { signal, mostBytes: sizeBytes })
          if (found.sizeBytes !== sizeBytes) {
            const more = found.sizeBytes > sizeBytes ? 'more' : `${found.sizeBytes}`
            throw damagedFile(loadSpec.path, `it should have [${sizeBytes}] bytes and has [${more}]`)
          }
          if (found.checksum !== loadSpec.checksum) {
            throw damagedFile(
              loadSpec.path,
              `its checksum should be [${loadSpec.checksum}] and is [${found.checksum}]`,
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
          // A link is none of the folders that a push makes.
          if (!interval.isDirectory()) continue
          const within = join(folder, interval.name)
          const found = await Promise.all(names.map((name) => removeFolder(join(within, name))))
          // A push that makes the same folder just now makes it again.
          if (found.some(Boolean)) await rmdir(within).catch(() => {})
        }
      } catch (error) {
        if (errorCode(error) !== 'ENOENT' || !(await isDirectory(root))) throw unwritable(error)
      }
      await removeEmptyFolders(folder)
    },
  }
}
