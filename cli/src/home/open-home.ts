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
import { conflict, invalidInput, unavailable } from '@svc/domain/failure'
import { createWithParents } from './create-with-parents.ts'
import { type HomeLayout, homeLayout } from './layout.ts'
import { stagingName, writeAtomically } from './run-file.ts'
import { storageFailure } from './storage-failure.ts'

/** A new home takes about 60 MB for Postgres; logs and the write-ahead log need space later. */
const minFreeBytes = { new: 100 * 1024 * 1024, used: 20 * 1024 * 1024 }

const homeFormat = 1

/**
 * Creates the missing folders of a home and checks that it can be used. Throws a Failure if it is not a home, is not
 * writable, has not enough space, or was created by an incompatible version.
 */
export function openHome(folder: string): HomeLayout {
  const home = homeLayout(folder)
  try {
    checkIsHome(home)
    createWithParents(home.root)
    checkRoom(home)
    // The marker comes first: without it, the folder does not count as a home.
    if (!existsSync(home.marker))
      writeAtomically(home.marker, `${JSON.stringify({ format: homeFormat })}\n`, 0o644)
    createFolders(home)
  } catch (error) {
    throw storageFailure(error, home.root)
  }
  return home
}

/** Whether the folder was created by `openHome`. */
export function isHome(home: HomeLayout): boolean {
  return existsSync(home.marker)
}

/** Deletes everything that `openHome` and the cluster created, and the folder itself if it is then empty. */
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
    throw invalidInput(`Home [${home.root}] is a file, not a folder. Select another home with --home.`)
  }
  if (!existsSync(home.marker)) {
    // A start that was killed while writing the marker leaves only that.
    if (readdirSync(home.root).every((name) => name === stagingName(path.basename(home.marker)))) return
    throw invalidInput(
      `Folder [${home.root}] is not empty and is not an svc home. Select another folder with --home.`,
    )
  }
  const format = formatOf(home.marker)
  if (format !== homeFormat) {
    throw conflict(
      `Home [${home.root}] is damaged: [${path.basename(home.marker)}] has format [${format}], expected [${homeFormat}]. ` +
        'Use the version of svc that created the home, or delete the folder of the home.',
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

function createFolders(home: HomeLayout): void {
  // Postgres does not run as root, so under root its user must be able to access the home. Secrets, keys, and
  // configuration are in folders that only the owner can access.
  chmodSync(home.root, process.getuid?.() === 0 ? 0o711 : 0o700)
  const { secrets, pki, conf, run, logs, redis, deepStorage, cache, input, taskLogs, tasks } = home
  for (const folder of [secrets, pki, conf, run, logs, redis, deepStorage, cache, input, taskLogs, tasks]) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) {
      throw conflict(
        `Home [${home.root}] is damaged: [${folder}] is a file, expected a folder. Move the file elsewhere.`,
      )
    }
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }
}

function checkRoom(home: HomeLayout): void {
  const { bavail, bsize } = statfsSync(home.root)
  const freeBytes = bavail * bsize
  const minBytes = minFreeBytes[existsSync(home.postgres) ? 'used' : 'new']
  if (freeBytes < minBytes) {
    const free = Math.floor(freeBytes / 1024 / 1024)
    const min = minBytes / 1024 / 1024
    throw unavailable(
      `Not enough disk space for [${home.root}]: [${free}] MB free, at least [${min}] MB required. Free up space, or select another home with --home.`,
    )
  }
}
