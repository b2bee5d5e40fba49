import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, realpath, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { conflict, describeError, invalidInput, notFound } from '@svc/domain/failure'
import { type HomeLayout, storageFailure } from '../home/index.ts'

/** A file where the overlord may read it. */
export interface InputFile {
  readonly path: string
  readonly isCopy: boolean
  /** Takes the copy away, if it is one. */
  remove(): Promise<void>
}

/** Whether the file lies in the folder or below; both without links. */
export function isBelow(folder: string, file: string): boolean {
  const relative = path.relative(folder, file)
  return relative === '' || !(relative.startsWith('..') || path.isAbsolute(relative))
}

/** What has to be known to bring a file to where the overlord may read it. */
export interface InputSurroundings {
  /** Folders below which the overlord may read. */
  readonly allowedRoots: readonly string[]
  readonly home: HomeLayout
  readonly signal: AbortSignal
  /** Called before a copy is made. */
  readonly onCopy: () => void
}

/**
 * The file itself when it lies below one of the folders that the overlord may read, else a copy of it in the home.
 * `file` has no links in its path. Throws a Failure when the overlord may not read the home either.
 */
export async function provideInput(file: string, surroundings: InputSurroundings): Promise<InputFile> {
  const { allowedRoots, home, signal, onCopy } = surroundings
  const roots = await Promise.all(allowedRoots.map((root) => realpath(root).catch(() => root)))
  if (roots.some((root) => isBelow(root, file))) {
    return { path: file, isCopy: false, remove: async () => undefined }
  }
  const input = await realpath(home.input)
  if (!roots.some((root) => isBelow(root, input))) {
    throw conflict(
      `The overlord may read only below [${allowedRoots.join('], [')}] (svc.ingestion.local.allowedRoots): put file [${file}] there`,
    )
  }
  onCopy()
  return copyInto(input, file, home, signal)
}

/** The path of a file without links. Throws a Failure when there is no file. */
export async function findFile(file: string): Promise<string> {
  try {
    const real = await realpath(file)
    if ((await stat(real)).isFile()) return real
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw notFound(`File [${file}] does not exist`)
    throw notFound(`File [${file}] cannot be read: ${describeError(error)}`)
  }
  throw invalidInput(`[${file}] is not a file`)
}

async function copyInto(
  input: string,
  file: string,
  home: HomeLayout,
  signal: AbortSignal,
): Promise<InputFile> {
  // A folder of its own, so that the copy keeps its name: messages about the data tell it.
  const folder = await mkdtemp(path.join(input, 'ingest-'))
  const copy = path.join(folder, path.basename(file))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await pipeline(createReadStream(file), createWriteStream(copy, { mode: 0o600 }), { signal })
  } catch (error) {
    await remove()
    signal.throwIfAborted()
    if ((error as NodeJS.ErrnoException).path === file) {
      throw notFound(`File [${file}] cannot be read: ${describeError(error)}`)
    }
    throw storageFailure(error, home.root)
  }
  return { path: copy, isCopy: true, remove }
}
