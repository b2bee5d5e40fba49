import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, opendir, readdir, realpath, rename, rm, rmdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { Failure, notFound } from '@svc/domain/failure'
import { retry } from '../retry/index.ts'
import { createDirectory, errorCode, syncDirectory } from './durable-files.ts'
import { type FileChecksum, streamWithChecksum } from './file-checksum.ts'
import type { FileStore, GetOptions, ListedFile } from './file-store.ts'
import { assertUndamaged, receiveFile, unreadableFile, unwritableFile, writeDurably } from './receive-file.ts'
import { storageFailure } from './storage-failure.ts'
import { incomingDirectory, partsOfPath, refusePath } from './stored-path.ts'

// The incoming file of a killed writer stays until a later writer finds it old enough to remove.
const abandonedAfterMs = 24 * 3_600_000
// A concurrent removal may delete the folder that a writer has just created.
const maxMoveAttempts = 20

const resolveInside = (root: string, path: string): string => join(root, ...partsOfPath(path))

const isInside = (root: string, file: string): boolean =>
  file.startsWith(root.endsWith(sep) ? root : root + sep)

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false
}

/** A folder, and its name in messages. */
interface Folder {
  readonly title: string
  readonly root: string
}

/** Creates a store in a folder of a file system that all servers share. The first file creates the folder. */
export function createFolderStore({
  title,
  rootDirectory,
}: {
  /** What the store is, in messages. */
  title: string
  rootDirectory: string
}): FileStore {
  const root = resolve(rootDirectory)
  const folder: Folder = { title, root }
  let isSwept = false
  return {
    type: 'local',
    location: root,
    put: async (localFile, path) => {
      const target = resolveInside(root, path)
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
        const written = await writeDurably(temporary, (output) =>
          streamWithChecksum(source, output, {
            read: (error) => unreadableFile(localFile, error),
            write: (error) => unwritable(folder, error),
          }),
        )
        await moveIntoPlace(root, temporary, target, path)
        return { path, ...written }
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => {})
        throw unwritable(folder, error)
      } finally {
        await source.close()
      }
    },
    get: (path, destinationFile, options) => getFile(folder, path, destinationFile, options),
    read: async (path, start, end) => {
      const source = await openStored(folder, path)
      return source.createReadStream({ start, end: end - 1 })
    },
    find: (path) => findFile(folder, path),
    list: (within) => listFiles(folder, within),
    remove: (path) => removeFile(folder, path),
    removeSubfolders: (within, names) => removeSubfolders(folder, within, names),
  }
}

const unreadable = ({ title, root }: Folder, error: unknown): Failure =>
  storageFailure(`Failed to read ${title} [${root}]`, root, error)
const unwritable = ({ title, root }: Folder, error: unknown): Failure =>
  storageFailure(`Failed to write to ${title} [${root}]`, root, error)

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
  const move = async (): Promise<void> => {
    await createDirectory(dirname(target))
    await realInside(root, dirname(target), relativePath)
    await rename(temporary, target)
    await syncDirectory(dirname(target))
  }
  const isTemporary = (error: Error) => errorCode(error) === 'ENOENT'
  await retry(move, { isTemporary, delayMs: 0, maxAttempts: maxMoveAttempts })
}

async function getFile(
  folder: Folder,
  path: string,
  destinationFile: string,
  { expected, signal }: GetOptions = {},
): Promise<FileChecksum> {
  const source = await openStored(folder, path)
  const errors = {
    read: (error: unknown) => unreadable(folder, error),
    write: (error: unknown) => unwritableFile(destinationFile, error),
  }
  try {
    return await receiveFile(destinationFile, signal, async (output) => {
      const maxBytes = expected?.sizeBytes ?? Number.POSITIVE_INFINITY
      const found = await streamWithChecksum(source, output, errors, { signal, maxBytes })
      if (expected !== undefined) assertUndamaged(found, path, expected)
      return found
    })
  } finally {
    await source.close()
  }
}

async function openStored(folder: Folder, path: string): Promise<FileHandle> {
  const { root } = folder
  const file = resolveInside(root, path)
  try {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer, maybe forever.
    const source = await open(await realInside(root, file, path), constants.O_RDONLY | constants.O_NONBLOCK)
    if ((await source.stat()).isFile()) return source
    await source.close()
    return refusePath(path)
  } catch (error) {
    if (!(await isAbsent(root, error))) throw unreadable(folder, error)
    throw notFound(`File [${path}] is not in ${folder.title} [${root}]`, { file: path })
  }
}

/** Whether the error means that the file does not exist in a store that works. */
async function isAbsent(root: string, error: unknown): Promise<boolean> {
  return ['ENOENT', 'ENOTDIR'].includes(errorCode(error)) && (await isDirectory(root))
}

async function findFile(folder: Folder, path: string): Promise<ListedFile | undefined> {
  const source = await openStored(folder, path).catch((error: unknown) => {
    // The first file creates the folder.
    const isMissing =
      error instanceof Failure && (error.code === 'notFound' || errorCode(error.cause) === 'ENOENT')
    if (isMissing) return undefined
    throw error
  })
  if (source === undefined) return undefined
  try {
    const { size, mtimeMs } = await source.stat()
    return { path, sizeBytes: size, modifiedAtMs: mtimeMs }
  } finally {
    await source.close()
  }
}

async function* listFiles(folder: Folder, within: string): AsyncGenerator<ListedFile> {
  const { root } = folder
  try {
    const entries = await opendir(within === '' ? root : resolveInside(root, within))
    for await (const entry of entries) {
      const path = within === '' ? entry.name : `${within}/${entry.name}`
      if (path === incomingDirectory) continue
      if (entry.isDirectory()) yield* listFiles(folder, path)
      if (!entry.isFile()) continue
      const found = await stat(join(root, path)).catch(() => undefined)
      if (found) yield { path, sizeBytes: found.size, modifiedAtMs: found.mtimeMs }
    }
  } catch (error) {
    // The first file creates the folder.
    if (errorCode(error) !== 'ENOENT') throw unreadable(folder, error)
  }
}

async function removeFile(folder: Folder, path: string): Promise<void> {
  const { root } = folder
  const target = resolveInside(root, path)
  try {
    const directory = await realInside(root, dirname(target), path)
    await rm(join(directory, basename(target)), { force: true })
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || !(await isDirectory(root))) throw unwritable(folder, error)
  }
  await removeEmptyFolders(root, dirname(target))
}

async function removeSubfolders(
  folder: Folder,
  within: string,
  subfolders: readonly string[],
): Promise<void> {
  const { root } = folder
  const parent = resolveInside(root, within)
  try {
    await realInside(root, parent, within)
    for await (const child of await opendir(parent)) {
      // Writers create folders only, never links.
      if (!child.isDirectory()) continue
      const inside = join(parent, child.name)
      const found = await Promise.all(subfolders.map((name) => removeFolder(join(inside, name))))
      // A concurrent writer into the same folder creates it again.
      if (found.some(Boolean)) await rmdir(inside).catch(() => {})
    }
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || !(await isDirectory(root))) throw unwritable(folder, error)
  }
  await removeEmptyFolders(root, parent)
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
