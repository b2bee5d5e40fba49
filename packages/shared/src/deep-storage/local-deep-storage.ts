import { randomUUID } from 'node:crypto'
import { type FileHandle, open, opendir, readdir, realpath, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { conflict, type Failure, invalidInput, notFound } from '@svc/domain/failure'
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
  let isSwept = false
  return {
    push: async (localFile, relativePath) => {
      const target = resolveInside(root, relativePath)
      const source = await open(localFile, 'r').catch((error) => {
        throw unreadableFile(localFile, error)
      })
      const incoming = join(root, incomingDirectory)
      const temporary = join(incoming, randomUUID())
      try {
        await createDirectory(incoming)
        if (!isSwept) {
          isSwept = true
          await sweepAbandoned(incoming)
        }
        const pushed = await writeDurably(temporary, (output) =>
          streamWithChecksum(source, output, {
            read: (error) => unreadableFile(localFile, error),
            write: (error) => unwritableStorage(root, error),
          }),
        )
        await moveIntoPlace(root, temporary, target, relativePath)
        return { path: relativePath, ...pushed }
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => {})
        throw unwritableStorage(root, error)
      } finally {
        await source.close()
      }
    },
    fetch: (loadSpec, sizeBytes, destinationFile, signal) =>
      fetchFile(root, loadSpec, sizeBytes, destinationFile, signal),
    remove: (loadSpec) => removeFile(root, loadSpec),
    removeWritten: (dataSource, pathPrefixes) => removeTaskFolders(root, dataSource, pathPrefixes),
  }
}

const unreadableStorage = (root: string, error: unknown): Failure =>
  storageFailure(`Deep storage [${root}] cannot be read`, root, error)
const unwritableStorage = (root: string, error: unknown): Failure =>
  storageFailure(`Deep storage [${root}] cannot be written`, root, error)
const unreadableFile = (file: string, error: unknown): Failure =>
  storageFailure(`File [${file}] cannot be read`, file, error)
const unwritableFile = (file: string, error: unknown): Failure =>
  storageFailure(`File [${file}] cannot be written`, file, error)

/** Creates a file, and returns what `write` returns once its content would survive a power failure. */
async function writeDurably<Result>(
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

// A symbolic link inside the storage must not lead outside of it.
async function realInside(root: string, path: string, relativePath: string): Promise<string> {
  const [realRoot, real] = await Promise.all([realpath(root), realpath(path)])
  if (real !== realRoot && !isInside(realRoot, real)) refusePath(relativePath)
  return real
}

async function sweepAbandoned(incoming: string): Promise<void> {
  for (const name of await readdir(incoming)) {
    const file = join(incoming, name)
    const found = await stat(file).catch(() => undefined)
    if (found !== undefined && Date.now() - found.mtimeMs > abandonedAfterMs) await rm(file, { force: true })
  }
}

async function moveIntoPlace(
  root: string,
  temporary: string,
  target: string,
  relativePath: string,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await createDirectory(dirname(target))
      await realInside(root, dirname(target), relativePath)
      await rename(temporary, target)
      await syncDirectory(dirname(target))
      return
    } catch (error) {
      if (errorCode(error) !== 'ENOENT' || attempt === pushAttempts) throw error
    }
  }
}

async function fetchFile(
  root: string,
  loadSpec: LoadSpec,
  sizeBytes: number,
  destinationFile: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (loadSpec.type === 'virtual')
    throw conflict('A virtual segment has no file: only virtual servers can load it')
  const source = await openStored(root, loadSpec)
  const temporary = `${destinationFile}.${randomUUID()}.tmp`
  const errors = {
    read: (error: unknown) => unreadableStorage(root, error),
    write: (error: unknown) => unwritableFile(destinationFile, error),
  }
  try {
    await writeDurably(temporary, async (output) => {
      const found = await streamWithChecksum(source, output, errors, { signal, maxBytes: sizeBytes })
      assertUndamaged(found, loadSpec, sizeBytes)
    })
    await rename(temporary, destinationFile)
    await syncDirectory(dirname(destinationFile))
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    throw signal?.aborted === true && error === signal.reason ? error : errors.write(error)
  } finally {
    await source.close()
  }
}

async function openStored(root: string, loadSpec: LoadSpec): Promise<FileHandle> {
  const path = resolveInside(root, loadSpec.path)
  try {
    const source = await open(await realInside(root, path, loadSpec.path), 'r')
    if ((await source.stat()).isFile()) return source
    await source.close()
    return refusePath(loadSpec.path)
  } catch (error) {
    throw await missingFile(root, loadSpec, error)
  }
}

async function missingFile(root: string, loadSpec: LoadSpec, error: unknown): Promise<unknown> {
  const code = errorCode(error)
  if ((code === 'ENOENT' || code === 'ENOTDIR') && (await isDirectory(root))) {
    return notFound(`File [${loadSpec.path}] is not in deep storage [${root}]`, { file: loadSpec.path })
  }
  return unreadableStorage(root, error)
}

/** Throws if the bytes differ from those that were pushed. */
function assertUndamaged(found: FileChecksum, loadSpec: LoadSpec, sizeBytes: number): void {
  if (found.sizeBytes !== sizeBytes) {
    const more = found.sizeBytes > sizeBytes ? 'more' : `${found.sizeBytes}`
    throw damagedFile(loadSpec.path, `expected [${sizeBytes}] bytes but found [${more}]`)
  }
  if (found.checksum !== loadSpec.checksum) {
    throw damagedFile(loadSpec.path, `expected checksum [${loadSpec.checksum}] but found [${found.checksum}]`)
  }
}

async function removeFile(root: string, loadSpec: LoadSpec): Promise<void> {
  if (loadSpec.type === 'virtual') return
  const target = resolveInside(root, loadSpec.path)
  try {
    const directory = await realInside(root, dirname(target), loadSpec.path)
    await rm(join(directory, loadSpec.path.split('/').at(-1) as string), { force: true })
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || !(await isDirectory(root))) throw unwritableStorage(root, error)
  }
  await removeEmptyFolders(root, dirname(target))
}

async function removeTaskFolders(
  root: string,
  dataSource: string,
  pathPrefixes: readonly string[],
): Promise<void> {
  const relativePath = datasourceFolder(dataSource)
  const folder = resolveInside(root, relativePath)
  const names = pathPrefixes.map(taskFolder)
  try {
    await realInside(root, folder, relativePath)
    for await (const interval of await opendir(folder)) {
      // Pushes create folders only, never links.
      if (!interval.isDirectory()) continue
      const within = join(folder, interval.name)
      const found = await Promise.all(names.map((name) => removeFolder(join(within, name))))
      // A concurrent push into the same folder creates it again.
      if (found.some(Boolean)) await rmdir(within).catch(() => {})
    }
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || !(await isDirectory(root))) throw unwritableStorage(root, error)
  }
  await removeEmptyFolders(root, folder)
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

async function removeEmptyFolders(root: string, from: string): Promise<void> {
  for (let directory = from; isInside(root, directory); directory = dirname(directory)) {
    try {
      await rmdir(directory)
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') return
    }
  }
}
