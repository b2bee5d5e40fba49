import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import path from 'node:path'
import { describeError, unavailable } from '@svc/domain/failure'
import { libraryPath, unpackDebianPackages } from '../../../launcher/debian-packages.mjs'

/** A Redis-compatible server program. */
export interface RedisProgram {
  readonly file: string
  /** The folder of its unpacked shared libraries; undefined if the system has them. */
  readonly libraries: string | undefined
  readonly version: string
}

/** Where to look for a program, and where to store a downloaded one. */
export interface RedisSearch {
  /** In the format of the environment variable PATH. */
  readonly searchPath: string
  readonly cacheFolder: string
  /** Called before packages are downloaded, which takes seconds. */
  readonly onDownload?: () => void
  /** Cancels a download. */
  readonly signal?: AbortSignal
}

const programs = ['redis-server', 'valkey-server']

/** The min version that BullMQ recommends. */
const minVersion = [6, 2] as const

/**
 * A Redis server: from PATH, otherwise from the cache, otherwise downloaded from the system's package archive into the
 * cache. Throws a Failure that says what to do if there is none, or the reason of the signal.
 */
export async function findRedis(search: RedisSearch): Promise<RedisProgram> {
  const unusable: string[] = []
  for (const file of onPath(search.searchPath)) {
    const version = await versionOf(file, undefined)
    if (version && isRecent(version)) return { file, libraries: undefined, version }
    unusable.push(version ? `[${file}] is version [${version}]` : `[${file}] does not run`)
  }
  const cached = await unpacked(search.cacheFolder)
  if (cached) return cached
  search.onDownload?.()
  const reason = await download(search)
  const downloaded = await unpacked(search.cacheFolder)
  if (downloaded) return downloaded
  throw unavailable(
    `No Redis server ${minVersion.join('.')} or newer found: ${[...unusable, reason].join('; ')}. ` +
      'Install redis-server or valkey-server on PATH, for example with: sudo apt-get install redis-server',
  )
}

function onPath(searchPath: string): string[] {
  const folders = searchPath.split(path.delimiter).filter((folder) => folder !== '')
  return programs
    .flatMap((program) => folders.map((folder) => path.join(folder, program)))
    .filter(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The program that was unpacked earlier, if it works. */
async function unpacked(cacheFolder: string): Promise<RedisProgram | undefined> {
  for (const program of programs) {
    const file = path.join(cacheFolder, program, 'usr/bin', program)
    if (!existsSync(file)) continue
    const libraries = libraryPath(path.join(cacheFolder, program))
    const version = await versionOf(file, libraries)
    if (version && isRecent(version)) return { file, libraries, version }
  }
  return undefined
}

/** Downloads the first program that the archive has. Returns the reason if that failed. */
async function download({ cacheFolder, signal }: RedisSearch): Promise<string> {
  let reason = ''
  for (const program of programs) {
    try {
      const folder = path.join(cacheFolder, program)
      await unpackDebianPackages({
        names: [program],
        alsoNeeded: /^(lib|redis|valkey)/,
        folder,
        ...(signal && { signal }),
      })
      if (await unpacked(cacheFolder)) return ''
      reason = `[${program}] from the package archive does not work or is too old`
    } catch (error) {
      signal?.throwIfAborted()
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw error
      reason ||= describeError(error)
    }
  }
  return reason
}

/** The version that the program prints, for example `7.0.15`; undefined if it does not work. */
async function versionOf(file: string, libraries: string | undefined): Promise<string | undefined> {
  const env = libraries ? { ...process.env, LD_LIBRARY_PATH: libraries } : process.env
  const printed = await new Promise<string>((resolve) => {
    execFile(file, ['--version'], { env, timeout: 5000 }, (_error, stdout) => resolve(stdout))
  })
  return /\bv=(\d+\.\d+(?:\.\d+)?)/.exec(printed)?.[1]
}

function isRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [minMajor, minMinor] = minVersion
  return major > minMajor || (major === minMajor && minor >= minMinor)
}
