import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, realpath, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { conflict, describeError, invalidInput, notFound } from '@svc/domain/failure'
import { type HomeLayout, storageFailure } from '../home/index.ts'

/** A file that the overlord may read. */
export interface InputFile {
  readonly path: string
  readonly isCopy: boolean
  /** Deletes the file if it is a copy. */
  remove(): Promise<void>
}

/** Whether the file is in the folder or a subfolder; both without symbolic links. */
export function isBelow(folder: string, file: string): boolean {
  const relative = path.relative(folder, file)
  return relative === '' || !(relative.startsWith('..') || path.isAbsolute(relative))
}

/** What `provideInput` needs to know. */
export interface InputSurroundings {
  /** Folders from which the overlord may read files. */
  readonly allowedRoots: readonly string[]
  readonly home: HomeLayout
  readonly signal: AbortSignal
  /** Called before a copy is made. */
  readonly onCopy: () => void
}

/**
 * The file itself if it is in a folder that the overlord may read, otherwise a copy of it in the home. The path `file`
 * has no symbolic links. Throws a Failure if the overlord may not read the home either.
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
      `The overlord can read only files in [${allowedRoots.join('], [')}] (svc.ingestion.local.allowedRoots). Move file [${file}] there.`,
    )
  }
  onCopy()
  return copyInto(input, file, home, signal)
}

/** The path of a file without symbolic links. Throws a Failure if the file does not exist. */
export async function findFile(file: string): Promise<string> {
  try {
    const real = await realpath(file)
    if ((await stat(real)).isFile()) return real
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw notFound(`File [${file}] does not exist`)
    throw notFound(`Failed to read file [${file}]: ${describeError(error)}`)
  }
  throw invalidInput(`[${file}] is not a file`)
}

async function copyInto(
  input: string,
  file: string,
  home: HomeLayout,
  signal: AbortSignal,
): Promise<InputFile> {
  // A separate folder keeps the name of the file, which messages about the data show.
  const folder = await mkdtemp(path.join(input, 'ingest-'))
  const copy = path.join(folder, path.basename(file))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await pipeline(createReadStream(file), createWriteStream(copy, { mode: 0o600 }), { signal })
  } catch (error) {
    await remove()
    signal.throwIfAborted()
    if ((error as NodeJS.ErrnoException).path === file) {
      throw notFound(`Failed to read file [${file}]: ${describeError(error)}`)
    }
    throw storageFailure(error, home.root)
  }
  return { path: copy, isCopy: true, remove }
}
