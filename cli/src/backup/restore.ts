import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { copyFile, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { addAbortSignal } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { conflict, describeError, notFound, unavailable } from '@svc/domain/failure'
import { checksumOfFile, createFolderStore, errorCode } from '@svc/shared/deep-storage'
import { canRestore, dumpFiles, restoreTables } from '@svc/shared/postgres'
import { createNewHome, withStoreOf } from '../cluster/index.ts'
import { type HomeLayout, homeLayout, openHome, writeSecret } from '../home/index.ts'
import { copyFiles, describeProblems } from './copy-files.ts'
import {
  type HomeFile,
  homeFilePaths,
  keptSecrets,
  type Manifest,
  readManifest,
  secretPath,
  storageFolder,
  tableFile,
  virtualHomeFiles,
  virtualHomePaths,
} from './manifest.ts'

/** How to restore. */
export interface RestoreOptions {
  /** Properties of the cluster that will run in the home, as for `./svc up`: they say where its deep storage is. */
  readonly set: readonly string[]
  readonly signal: AbortSignal
}

/** Result of a restore. */
export interface RestoreResult {
  readonly home: string
  readonly createdAt: string
  readonly files: number
  /** Notices for the user about a successful restore. */
  readonly notices: readonly string[]
}

/**
 * Creates a new home from a backup; the home appears only when it is complete. Checks the secrets and virtual servers
 * against the manifest and every table against its checksum, fills the store and deep storage, and checks every file
 * against its segment. Nothing runs in the home afterward. Throws a Failure if the backup is incomplete or the home
 * exists, or the reason of the signal.
 */
export async function restore(
  folder: string,
  homeFolder: string,
  { set, signal }: RestoreOptions,
): Promise<RestoreResult> {
  const manifest = readManifest(folder)
  if (!canRestore(manifest.migrations)) {
    throw conflict(
      `Backup [${folder}] was written by a version of svc with a different schema [${manifest.migrations.at(-1)}]. Restore it with that version.`,
    )
  }
  if (manifest.homeFiles !== null) await checkHomeFiles(folder, manifest.homeFiles)
  const { root } = homeLayout(homeFolder)
  try {
    return await createNewHome(root, async (growing) => {
      await checkTables(folder, manifest, signal)
      await fillHome(openHome(growing), folder, manifest, { set, signal })
      signal.throwIfAborted()
      return {
        home: root,
        createdAt: manifest.createdAt,
        files: manifest.files,
        notices: noticesOf(folder, manifest),
      }
    })
  } catch (error) {
    // An aborted operation throws its own error; the reason of the signal says more.
    signal.throwIfAborted()
    throw error
  }
}

async function checkHomeFiles(folder: string, files: readonly HomeFile[]): Promise<void> {
  const problems: string[] = []
  for (const file of files) {
    const problem = await problemOf(path.join(folder, file.path), file)
    if (problem !== undefined) problems.push(`[${file.path}] ${problem}`)
  }
  if (problems.length > 0) throw conflict(`Backup [${folder}] is damaged: ${problems.join(', ')}`)
}

async function problemOf(file: string, { sizeBytes, sha256 }: HomeFile): Promise<string | undefined> {
  const found = await checksumOfFile(file).catch((error: unknown) =>
    errorCode(error) === 'ENOENT' ? 'is missing' : `is unreadable: ${describeError(error)}`,
  )
  if (typeof found === 'string') return found
  if (found.sizeBytes !== sizeBytes) return `is [${found.sizeBytes}] bytes long: expected [${sizeBytes}]`
  return sha256 !== null && found.checksum !== `sha256:${sha256}` ? 'has a different checksum' : undefined
}

function noticesOf(folder: string, { homeFiles }: Manifest): string[] {
  if (homeFiles !== null) return []
  const found = existingHomeFiles(folder)
  const restored =
    found.length === 0
      ? 'found none of them'
      : `found and restored [${found.join(', ')}] without verifying ${found.length === 1 ? 'it' : 'them'}`
  return [
    `The backup uses an older format that does not list its password and virtual-server files. It may contain [${homeFilePaths.join(', ')}]; ${restored}`,
  ]
}

const existingHomeFiles = (folder: string) =>
  homeFilePaths.filter((file) => existsSync(path.join(folder, file)))

async function checkTables(folder: string, { tables }: Manifest, signal: AbortSignal): Promise<void> {
  for (const { name, sha256 } of tables) {
    const found = await checksumOfFile(tableFile(folder, name), signal).catch((error: unknown) => {
      throw unavailable(`Failed to read table [${name}] of the backup: ${describeError(error)}`)
    })
    if (found.checksum !== `sha256:${sha256}`) {
      throw conflict(
        `Table [${name}] of the backup is damaged: [${tableFile(folder, name)}] has a different checksum`,
      )
    }
  }
}

async function fillHome(
  home: HomeLayout,
  folder: string,
  { migrations, tables, homeFiles }: Manifest,
  { set, signal }: RestoreOptions,
): Promise<void> {
  const has = new Set(homeFiles?.map((file) => file.path) ?? existingHomeFiles(folder))
  for (const name of keptSecrets) {
    const file = secretPath(name)
    if (has.has(file)) writeSecret(home, name, await readFile(path.join(folder, file), 'utf8'))
  }
  await withStoreOf(home, { set, signal }, async (database, storage) => {
    await restoreTables(database, migrations, tables, (name) =>
      addAbortSignal(signal, createReadStream(tableFile(folder, name)).pipe(createGunzip())),
    )
    const listFile = path.join(home.tasks, 'files')
    await dumpFiles(database, createWriteStream(listFile))
    const source = createFolderStore({ title: 'deep storage', rootDirectory: storageFolder(folder) })
    const copied = await copyFiles(
      listFile,
      async (relative) => {
        if ((await source.find(relative)) === undefined) throw notFound(`File [${relative}] is missing`)
        return await storage.put(path.join(storageFolder(folder), relative), relative)
      },
      { signal },
    )
    if (copied.problems.length > 0)
      throw conflict(`Backup [${folder}] is damaged: in its deep storage, ${describeProblems(copied)}`)
    await rm(listFile)
  })
  for (const name of virtualHomePaths)
    if (has.has(name)) await copyFile(path.join(folder, name), home[virtualHomeFiles[name]])
}
