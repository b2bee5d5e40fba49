import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, link, mkdir, readdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Settings } from '@svc/shared/config'
import { errorCode } from '@svc/shared/deep-storage'
import { initialState } from '@svc/shared/postgres'
import { emptyFolder } from '@svc/shared/service'

// Hard links need the same file system, so snapshots are next to the files.
const snapshotsFolder = '.snapshots'

/** The folders with files that the metadata store refers to. */
const foldersOf = (settings: Settings): string[] =>
  [settings.get('svc.storage.storageDirectory'), settings.get('svc.indexer.logs.directory')].map((folder) =>
    path.resolve(folder),
  )

/** Adds the current files to a snapshot. `isNew`: after deleting those of an earlier snapshot of that name. */
export async function keepFiles(settings: Settings, snapshot: string, isNew: boolean): Promise<void> {
  for (const folder of foldersOf(settings)) {
    const target = path.join(folder, snapshotsFolder, snapshot)
    if (isNew) await rm(target, { recursive: true, force: true })
    await linkFiles(folder, target)
  }
}

/** Adds the current files to the initial state of the cluster, unless it has been stored before. */
export async function keepInitialFiles(settings: Settings): Promise<void> {
  for (const folder of foldersOf(settings)) {
    const target = path.join(folder, snapshotsFolder, initialState)
    if (existsSync(target)) continue
    const staging = `${target}.${randomUUID()}`
    await linkFiles(folder, staging)
    try {
      await rename(staging, target)
    } catch (error) {
      await rm(staging, { recursive: true, force: true })
      // Another overlord was faster.
      if (!existsSync(target)) throw error
    }
  }
}

/** Replaces the files with those of a snapshot, or of the initial state. */
export async function restoreFiles(settings: Settings, snapshot: string): Promise<void> {
  for (const folder of foldersOf(settings)) {
    await emptyFolder(folder, (name) => name === snapshotsFolder)
    await linkFiles(path.join(folder, snapshotsFolder, snapshot), folder)
  }
}

/** Links the files of a folder into another one. Servers never change a file, so links are as good as copies. */
async function linkFiles(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  const entries = await readdir(from, { withFileTypes: true }).catch(() => [])
  for (const entry of entries) {
    if (entry.name === snapshotsFolder) continue
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)]
    if (entry.isDirectory()) await linkFiles(source, target)
    else await linkFile(source, target)
  }
}

async function linkFile(source: string, target: string): Promise<void> {
  try {
    await link(source, target)
  } catch (error) {
    const code = errorCode(error)
    // It was linked before, or it was deleted in the meantime.
    if (code === 'EEXIST' || code === 'ENOENT') return
    // Some file systems have no hard links.
    if (code !== 'EPERM' && code !== 'ENOTSUP') throw error
    await copyFile(source, target)
  }
}
