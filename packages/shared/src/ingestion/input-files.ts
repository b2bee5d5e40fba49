import { createWriteStream } from 'node:fs'
import { mkdir, readdir, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { invalidInput, unavailable } from '@svc/domain/failure'
import { errorCode, storageFailure } from '../deep-storage/index.ts'
import type { IndexSpec, InputSource } from './index-spec.ts'
import { type InputAccess, isAllowedUri, realRoot, sourceField } from './input-access.ts'
import { matchesWildcard } from './wildcard.ts'

/** A file of input as the task reads it. */
export interface InputFile {
  /** Inside the task's own folder, with a plain name; perhaps a link. */
  readonly path: string
  /** The file that the path leads to. */
  readonly realPath: string
  /** What messages call it. */
  readonly title: string
}

const mostFiles = 10_000
const mostRedirects = 5
const redirects = new Set([301, 302, 303, 307, 308])
// DuckDB tells by the ending of a name how a file is compressed.
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
      // Links to folders are not followed: they may lead in circles.
      if (entry.isDirectory()) folders.push(path)
      else if (matchesWildcard(filter, entry.name)) found.push(path)
      if (found.length > mostFiles || folders.length > mostFiles) {
        throw invalidInput(
          `Folder[${baseDir}] has more than [${mostFiles}] files or folders that match filter[${filter}]`,
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
        `${field} has the value [${path}], which cannot be read: ${errorCode(error)}`,
        { field },
        error,
      )
    }
    // Says nothing about what the link leads to, not even whether it is there.
    if (!isBelow(roots, real) && !roots.includes(real)) {
      throw invalidInput(
        `${field} leads by way of [${path}] out of the folders of svc.ingestion.local.allowedRoots`,
        { field },
      )
    }
    return real
  }
  const files = new Map<string, FoundFile>()
  const add = async (path: string, field: string, title: string): Promise<void> => {
    const realPath = await allowedPath(path, field)
    if ((await stat(realPath)).isFile()) files.set(realPath, { realPath, title })
    else throw invalidInput(`${field} has the value [${path}], which is not a file`, { field })
  }
  if (source.baseDir !== undefined) {
    const field = `${sourceField}.baseDir`
    const baseDir = await allowedPath(source.baseDir, field)
    const filter = source.filter ?? '*'
    const found = await findBelow(baseDir, filter, signal).catch((error) => {
      signal?.throwIfAborted()
      throw storageFailure(`${field} has the value [${baseDir}], which cannot be read`, baseDir, error)
    })
    for (const path of found) await add(path, field, relative(baseDir, path))
  }
  for (const [index, path] of source.files.entries()) {
    await add(path, `${sourceField}.files[${index}]`, path)
  }
  if (files.size === 0) {
    throw invalidInput(
      `No file below ${sourceField}.baseDir[${source.baseDir}] matches filter[${source.filter}]`,
      { field: `${sourceField}.filter` },
    )
  }
  return [...files.values()]
}

/** The address without what may be secret. */
function titleOf(uri: string): string {
  const { origin, pathname } = new URL(uri)
  return origin + pathname
}

async function ask(
  uri: string,
  allowedHosts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Response> {
  let at = uri
  for (let hop = 0; hop <= mostRedirects; hop++) {
    if (!isAllowedUri(at, allowedHosts)) {
      throw invalidInput(
        `URI[${titleOf(uri)}] redirects to host[${new URL(at).host}], which svc.ingestion.http.allowedHosts does not name`,
        { field: `${sourceField}.uris` },
      )
    }
    let response: Response
    try {
      response = await fetch(at, { redirect: 'manual', signal: signal ?? null })
    } catch (error) {
      signal?.throwIfAborted()
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
      throw unavailable(`URI[${titleOf(at)}] cannot be read: ${errorCode(cause)}`, {}, error)
    }
    if (response.ok) return response
    await response.body?.cancel()
    const location = response.headers.get('location')
    if (redirects.has(response.status) && location !== null && URL.canParse(location, at)) {
      at = new URL(location, at).href
    } else if (response.status >= 500 || response.status === 429) {
      throw unavailable(`URI[${titleOf(at)}] answers with status[${response.status}]`)
    } else {
      throw invalidInput(`URI[${titleOf(at)}] answers with status[${response.status}]`, {
        field: `${sourceField}.uris`,
      })
    }
  }
  throw invalidInput(`URI[${titleOf(uri)}] redirects more than [${mostRedirects}] times`, {
    field: `${sourceField}.uris`,
  })
}

async function download(
  uri: string,
  file: string,
  allowedHosts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const response = await ask(uri, allowedHosts, signal)
  const body = response.body === null ? Readable.from([]) : Readable.fromWeb(response.body)
  try {
    await pipeline(body, createWriteStream(file), { signal })
  } catch (error) {
    signal?.throwIfAborted()
    throw storageFailure(`URI[${titleOf(uri)}] cannot be read`, file, error)
  }
}

/**
 * Brings the input of a task into its folder: inline data written, files over HTTP downloaded, local files as links
 * (their own names may mean something to the reader). Failures: invalidInput for what is missing or not allowed,
 * unavailable for a host that does not answer.
 */
export async function fetchInput(
  spec: IndexSpec,
  directory: string,
  access: InputAccess,
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
      throw storageFailure(`Task directory[${directory}] cannot be written`, directory, error)
    })
    return [{ path, realPath: await realpath(path), title: 'the inline data' }]
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
  for (const uri of source.uris) {
    onFetched(files.length, source.uris.length)
    const path = pathOf(files.length, new URL(uri).pathname)
    await download(uri, path, access.allowedHosts, signal)
    files.push({ path, realPath: await realpath(path), title: titleOf(uri) })
  }
  return files
}
