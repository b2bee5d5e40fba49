import { mkdir, readdir, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { invalidInput } from '@svc/domain/failure'
import { errorCode, storageFailure } from '../deep-storage/index.ts'
import { HttpInput, type HttpInputLimits, titleOf } from './http-input.ts'
import type { IndexSpec, InputSource } from './index-spec.ts'
import { type InputAccess, realRoot, sourceField } from './input-access.ts'
import { matchesWildcard } from './wildcard.ts'

/** An input file as the task reads it. */
export interface InputFile {
  /** Path in the task's folder, without special characters in the name; may be a link. */
  readonly path: string
  /** Path of the file without links. */
  readonly realPath: string
  /** Name of the file in messages. */
  readonly title: string
}

const maxFiles = 10_000
// DuckDB detects the compression by the file name extension.
const compressedEnding = /\.(gz|zst)$/

interface FoundFile {
  readonly realPath: string
  readonly title: string
}

function isBelow(roots: readonly string[], path: string): boolean {
  return roots.some((root) => path.startsWith(root.endsWith(sep) ? root : root + sep))
}

async function findBelow(
  baseDir: string,
  filter: string,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const found: string[] = []
  const folders = [baseDir]
  for (const folder of folders) {
    signal?.throwIfAborted()
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      // Links to folders are not followed, because they can form a cycle.
      if (entry.isDirectory()) folders.push(path)
      else if (matchesWildcard(filter, entry.name)) found.push(path)
      if (found.length > maxFiles || folders.length > maxFiles) {
        throw invalidInput(
          `Folder [${baseDir}] has more than [${maxFiles}] files that match filter [${filter}], or more than [${maxFiles}] subfolders`,
          { field: `${sourceField}.filter` },
        )
      }
    }
  }
  return found.sort()
}

async function findLocal(
  source: Extract<InputSource, { type: 'local' }>,
  allowedRoots: readonly string[],
  signal: AbortSignal | undefined,
): Promise<FoundFile[]> {
  const roots = allowedRoots.map(realRoot)
  const allowedPath = async (path: string, field: string): Promise<string> => {
    let real: string
    try {
      real = await realpath(path)
    } catch (error) {
      throw invalidInput(
        `Invalid value [${path}] for [${field}]: expected a readable path, but got error [${errorCode(error)}]`,
        { field },
        error,
      )
    }
    // The message reveals nothing about the target of the link, not even whether it exists.
    if (!isBelow(roots, real) && !roots.includes(real)) {
      throw invalidInput(
        `Invalid value [${path}] for [${field}]: expected a path whose target is in a folder listed in [svc.ingestion.local.allowedRoots]`,
        { field },
      )
    }
    return real
  }
  const files = new Map<string, FoundFile>()
  const add = async (path: string, field: string, title: string): Promise<void> => {
    const realPath = await allowedPath(path, field)
    if ((await stat(realPath)).isFile()) files.set(realPath, { realPath, title })
    else throw invalidInput(`Invalid value [${path}] for [${field}]: expected a regular file`, { field })
  }
  if (source.baseDir !== undefined) {
    const field = `${sourceField}.baseDir`
    const baseDir = await allowedPath(source.baseDir, field)
    const filter = source.filter ?? '*'
    const found = await findBelow(baseDir, filter, signal).catch((error) => {
      signal?.throwIfAborted()
      throw storageFailure(`Failed to read folder [${baseDir}], specified in [${field}]`, baseDir, error)
    })
    for (const path of found) await add(path, field, relative(baseDir, path))
  }
  for (const [index, path] of source.files.entries()) {
    await add(path, `${sourceField}.files[${index}]`, path)
  }
  if (files.size === 0) {
    throw invalidInput(
      `Invalid value [${source.filter}] for [${sourceField}.filter]: expected a pattern that matches a file in folder [${source.baseDir}]`,
      { field: `${sourceField}.filter` },
    )
  }
  return [...files.values()]
}

/**
 * Fetches the input of a task into its folder: writes inline data, downloads files over HTTP, and links local files
 * (DuckDB might expand special characters in their names). Throws a Failure: invalidInput for a missing or forbidden
 * file, tooLarge for too many bytes, unavailable for a host that does not respond or is too slow.
 */
export async function fetchInput(
  spec: IndexSpec,
  directory: string,
  { access, httpLimits }: { readonly access: InputAccess; readonly httpLimits: HttpInputLimits },
  onFetched: (done: number, all: number) => void,
  signal?: AbortSignal,
): Promise<InputFile[]> {
  await mkdir(directory, { recursive: true })
  const source = spec.inputSource
  const ending = `.${spec.inputFormat.type}`
  const pathOf = (index: number, name: string): string =>
    join(directory, `${index}${ending}${compressedEnding.exec(name)?.[0] ?? ''}`)

  if (source.type === 'inline') {
    const path = pathOf(0, '')
    await writeFile(path, source.data).catch((error) => {
      throw storageFailure(`Failed to write to task directory [${directory}]`, directory, error)
    })
    return [{ path, realPath: await realpath(path), title: 'inline data' }]
  }
  const files: InputFile[] = []
  if (source.type === 'local') {
    for (const { realPath, title } of await findLocal(source, access.allowedRoots, signal)) {
      const path = pathOf(files.length, realPath)
      await rm(path, { force: true })
      await symlink(realPath, path)
      files.push({ path, realPath, title })
    }
    return files
  }
  const http = new HttpInput(access.allowedHosts, httpLimits)
  for (const uri of source.uris) {
    onFetched(files.length, source.uris.length)
    const path = pathOf(files.length, new URL(uri).pathname)
    await http.download(uri, path, signal)
    files.push({ path, realPath: await realpath(path), title: titleOf(uri) })
  }
  return files
}
