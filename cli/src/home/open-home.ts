import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import path from 'node:path'
import { conflict, unavailable } from '@svc/domain/failure'
import { type HomeLayout, homeLayout } from './layout.ts'
import { stagingName, writeWhole } from './run-file.ts'
import { storageFailure } from './storage-failure.ts'

/** A new home takes about 60 MB for Postgres; logs and write-ahead log need room from then on. */
const LEAST_FREE_BYTES = { new: 100 * 1024 * 1024, used: 20 * 1024 * 1024 }

const FORMAT = 1

/**
 * Makes the home's folders where they are missing and checks that it can be used. Throws a Failure with one line
 * when it is not a home, cannot be written, has no room or was made by another version.
 */
export function openHome(folder: string): HomeLayout {
  const home = homeLayout(folder)
  try {
    checkIsHome(home)
    makeWithParents(home.root)
    checkRoom(home)
    // Before anything else: what has no marker is not ours, whatever it is called.
    if (!existsSync(home.marker)) writeWhole(home.marker, `${JSON.stringify({ format: FORMAT })}\n`, 0o644)
    makeFolders(home)
  } catch (error) {
    throw storageFailure(error, home.root)
  }
  return home
}

/** Whether the folder was made by `openHome`. */
export function isHome(home: HomeLayout): boolean {
  return existsSync(home.marker)
}

/** Deletes what `openHome` and the cluster made; the folder itself only when nothing else is in it. */
export function deleteHome(home: HomeLayout): void {
  try {
    const { root, marker, lockFile, runFile, ...folders } = home
    for (const entry of Object.values(folders)) rmSync(entry, { recursive: true, force: true })
    rmSync(marker, { force: true })
    if (readdirSync(root).length === 0) rmSync(root, { recursive: true })
  } catch (error) {
    throw storageFailure(error, home.root)
  }
}

function checkIsHome(home: HomeLayout): void {
  if (!existsSync(home.root)) return
  if (!statSync(home.root).isDirectory()) {
    throw conflict(`Home [${home.root}] is a file, not a folder: choose another with --home`)
  }
  if (!existsSync(home.marker)) {
    // A start that ended while the marker was written left no more than that.
    if (readdirSync(home.root).every((name) => name === stagingName(path.basename(home.marker)))) return
    throw conflict(`Folder [${home.root}] is not a home of svc and not empty: choose another with --home`)
  }
  const format = formatOf(home.marker)
  if (format !== FORMAT) {
    throw conflict(
      `Home [${home.root}] is broken: [${path.basename(home.marker)}] names format [${format}], expected [${FORMAT}]; ` +
        'use the version of svc that made it, or delete the folder',
    )
  }
}

function formatOf(marker: string): unknown {
  try {
    return JSON.parse(readFileSync(marker, 'utf8')).format
  } catch (error) {
    if (error instanceof SyntaxError) return 'unreadable'
    throw error
  }
}

function makeFolders(home: HomeLayout): void {
  // Postgres does not run as root, so under root its user must be able to pass through the home; secrets, keys and
  // configuration stand in folders that are closed.
  chmodSync(home.root, process.getuid?.() === 0 ? 0o711 : 0o700)
  const { secrets, pki, conf, run, logs, redis, deepStorage, cache, input, taskLogs, tasks } = home
  for (const folder of [secrets, pki, conf, run, logs, redis, deepStorage, cache, input, taskLogs, tasks]) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) {
      throw conflict(
        `Home [${home.root}] is broken: [${folder}] is a file where a folder belongs: move it away`,
      )
    }
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }
}

function checkRoom(home: HomeLayout): void {
  const { bavail, bsize } = statfsSync(home.root)
  const freeBytes = bavail * bsize
  const leastBytes = LEAST_FREE_BYTES[existsSync(home.postgres) ? 'used' : 'new']
  if (freeBytes < leastBytes) {
    const free = Math.floor(freeBytes / 1024 / 1024)
    const least = leastBytes / 1024 / 1024
    throw unavailable(
      `The disk of home [${home.root}] has [${free}] MB free, at least [${least}] MB are needed: make room, or choose another with --home`,
    )
  }
}

/** Makes a folder and those above it, one by one: below /proc, Node's own recursion never ends. */
function makeWithParents(folder: string): void {
  if (existsSync(folder)) return
  makeWithParents(path.dirname(folder))
  mkdirSync(folder)
}
