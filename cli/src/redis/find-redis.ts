import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import path from 'node:path'
import { describeError, unavailable } from '@svc/domain/failure'
import { libraryPath, unpackDebianPackages } from '../../../launcher/debian-packages.mjs'

/** A server program that speaks Redis. */
export interface RedisProgram {
  readonly file: string
  /** Where its shared libraries were unpacked; undefined when the system has them. */
  readonly libraries: string | undefined
  readonly version: string
}

/** Where to look and where to keep what is brought. */
export interface RedisSearch {
  /** As the environment variable PATH. */
  readonly searchPath: string
  readonly cacheFolder: string
  /** Called before packages are downloaded, which takes seconds. */
  readonly onDownload?: () => void
}

const PROGRAMS = ['redis-server', 'valkey-server']

/** BullMQ recommends 6.2 as the least. */
const OLDEST_VERSION = [6, 2] as const

/**
 * A Redis server: from PATH, else from the cache, else from the system's package archive, unpacked into the cache.
 * Throws a Failure with what to do when there is none.
 */
export async function findRedis(search: RedisSearch): Promise<RedisProgram> {
  const tooOld: string[] = []
  for (const file of onPath(search.searchPath)) {
    const version = await versionOf(file, undefined)
    if (version && isRecent(version)) return { file, libraries: undefined, version }
    if (version) tooOld.push(`[${file}] is version [${version}]`)
  }
  const kept = await unpacked(search.cacheFolder)
  if (kept) return kept
  search.onDownload?.()
  const reason = await download(search.cacheFolder)
  const brought = await unpacked(search.cacheFolder)
  if (brought) return brought
  throw unavailable(
    `No Redis server of version ${OLDEST_VERSION.join('.')} or newer: ${[...tooOld, reason].join('; ')}. ` +
      'Install one so that redis-server or valkey-server is on PATH, such as with: sudo apt-get install redis-server',
  )
}

function onPath(searchPath: string): string[] {
  const folders = searchPath.split(path.delimiter).filter((folder) => folder !== '')
  return PROGRAMS.flatMap((program) => folders.map((folder) => path.join(folder, program))).filter(
    isExecutable,
  )
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The program unpacked earlier, when it runs. */
async function unpacked(cacheFolder: string): Promise<RedisProgram | undefined> {
  for (const program of PROGRAMS) {
    const file = path.join(cacheFolder, program, 'usr/bin', program)
    if (!existsSync(file)) continue
    const libraries = libraryPath(path.join(cacheFolder, program))
    const version = await versionOf(file, libraries)
    if (version && isRecent(version)) return { file, libraries, version }
  }
  return undefined
}

/** Brings the first of the programs that the archive has; what failed when it has none. */
async function download(cacheFolder: string): Promise<string> {
  let reason = ''
  for (const program of PROGRAMS) {
    try {
      const folder = path.join(cacheFolder, program)
      await unpackDebianPackages({ names: [program], alsoNeeded: /^(lib|redis|valkey)/, folder })
      if (await unpacked(cacheFolder)) return ''
      reason = `[${program}] from the package archive does not run or is too old`
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw error
      reason ||= describeError(error)
    }
  }
  return reason
}

/** What the program says of its version, such as `7.0.15`; undefined when it does not run. */
async function versionOf(file: string, libraries: string | undefined): Promise<string | undefined> {
  const env = libraries ? { ...process.env, LD_LIBRARY_PATH: libraries } : process.env
  const printed = await new Promise<string>((resolve) => {
    execFile(file, ['--version'], { env, timeout: 5000 }, (_error, stdout) => resolve(stdout))
  })
  return /\bv=(\d+\.\d+(?:\.\d+)?)/.exec(printed)?.[1]
}

function isRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = OLDEST_VERSION
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
}
