import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, lstatSync, renameSync, rmSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import { unavailable } from '@svc/domain/failure'
import type { HomeLayout } from '../home/index.ts'

/** Postgres does not run as root, or as a user without a name. This is `nobody`, which exists everywhere. */
const unprivilegedId = 65534

/** How to run the programs of Postgres: as which user, from which folder, and with which command prefix. */
export interface RunAs {
  /** The folder with `bin/postgres`. */
  readonly binaries: string
  /** Prefix of every command; empty to run programs directly. */
  readonly prefix: readonly string[]
  /** The user and group to run as; undefined for those of this process. */
  readonly id: number | undefined
}

/**
 * How Postgres can run here. Under root: as an unprivileged user, if that user can access the home and the binaries;
 * otherwise as root mapped to another user in a user namespace; otherwise with binaries copied into the home. A user
 * without a name, as in some containers, gets one in a user namespace. Throws a Failure if nothing of this is possible.
 */
export function decideRunAs(home: HomeLayout, binaries: string): RunAs {
  const direct: RunAs = { binaries, prefix: [], id: undefined }
  if (process.getuid?.() !== 0) {
    if (hasName() || !canUnshare()) return direct
    return { ...direct, prefix: unshare }
  }
  // The data folder already has an owner, so the decision of the first start is final.
  const owner = existsSync(home.postgres) ? statSync(home.postgres).uid : undefined
  const closedFolder = firstClosedFolder(home.root)
  if (
    owner !== 0 &&
    closedFolder === undefined &&
    firstClosedFolder(path.join(binaries, 'bin')) === undefined
  ) {
    return { ...direct, id: unprivilegedId }
  }
  if (owner !== unprivilegedId && canUnshare()) return { ...direct, prefix: unshare }
  if (owner !== 0 && closedFolder === undefined) {
    return { binaries: copiedBinaries(home, binaries), prefix: [], id: unprivilegedId }
  }
  throw unavailable(
    `Postgres does not run as root, and other users cannot access folder [${closedFolder ?? home.postgres}]. ` +
      'Run ./svc as another user, or select an accessible folder with --home, for example --home /var/tmp/svc.',
  )
}

const unshare = ['unshare', '--user', `--map-user=${unprivilegedId}`, `--map-group=${unprivilegedId}`]

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

/** The topmost folder on the path to `folder`, including itself, that other users cannot access. */
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
