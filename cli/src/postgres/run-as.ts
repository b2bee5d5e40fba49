import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, lstatSync, renameSync, rmSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import { unavailable } from '@svc/domain/failure'
import type { HomeLayout } from '../home/index.ts'

/** Postgres refuses to run as root, and as a user without a name. This is `nobody`, known everywhere. */
const UNPRIVILEGED_ID = 65534

/** How the programs of Postgres are run: as which user, from where, and behind which command. */
export interface RunAs {
  /** The folder with `bin/postgres`. */
  readonly binaries: string
  /** Put before every command; empty when the program is run directly. */
  readonly prefix: readonly string[]
  /** The user and group, when not our own. */
  readonly id: number | undefined
}

/**
 * How Postgres can run here. Under root: as an unprivileged user, when that one can reach the home and the binaries;
 * else as root who calls itself someone else in a user namespace; else with binaries copied into the home. A user
 * whom the system has no name for, as in some containers, gets one in a user namespace too.
 * Throws a Failure when none of that is possible.
 */
export function decideRunAs(home: HomeLayout, binaries: string): RunAs {
  const direct: RunAs = { binaries, prefix: [], id: undefined }
  if (process.getuid?.() !== 0) {
    if (hasName() || !canUnshare()) return direct
    return { ...direct, prefix: unshare }
  }
  // What an earlier start has decided stays: the data folder has its owner.
  const owner = existsSync(home.postgres) ? statSync(home.postgres).uid : undefined
  const closedFolder = firstClosedFolder(home.root)
  if (
    owner !== 0 &&
    closedFolder === undefined &&
    firstClosedFolder(path.join(binaries, 'bin')) === undefined
  ) {
    return { ...direct, id: UNPRIVILEGED_ID }
  }
  if (owner !== UNPRIVILEGED_ID && canUnshare()) return { ...direct, prefix: unshare }
  if (owner !== 0 && closedFolder === undefined) {
    return { binaries: copiedBinaries(home, binaries), prefix: [], id: UNPRIVILEGED_ID }
  }
  throw unavailable(
    `Postgres does not run as root, and folder [${closedFolder ?? home.postgres}] is closed to other users: ` +
      'run ./svc as another user, or choose an open folder with --home, such as --home /var/tmp/svc',
  )
}

const unshare = ['unshare', '--user', `--map-user=${UNPRIVILEGED_ID}`, `--map-group=${UNPRIVILEGED_ID}`]

function hasName(): boolean {
  try {
    return userInfo().username !== ''
  } catch {
    return false
  }
}

function canUnshare(): boolean {
  const [file, ...args] = unshare
  return process.platform === 'linux' && spawnSync(file!, [...args, 'true'], { stdio: 'ignore' }).status === 0
}

/** The topmost folder on the way to `folder`, itself included, that others may not pass through. */
function firstClosedFolder(folder: string): string | undefined {
  const parents: string[] = []
  for (let at = folder; ; at = path.dirname(at)) {
    parents.unshift(at)
    if (at === path.dirname(at)) break
  }
  return parents.find((parent) => (statSync(parent).mode & 0o001) === 0)
}

function copiedBinaries(home: HomeLayout, binaries: string): string {
  const copy = home.postgresBinaries
  if (existsSync(copy) && lstatSync(copy).isDirectory()) return copy
  const staging = `${copy}.new`
  rmSync(staging, { recursive: true, force: true })
  cpSync(binaries, staging, { recursive: true, verbatimSymlinks: true })
  renameSync(staging, copy)
  return copy
}
