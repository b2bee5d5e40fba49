import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { copyFile, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { addAbortSignal } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { conflict, describeError, unavailable } from '@svc/domain/failure'
import { canRestore, dumpFiles, restoreTables } from '@svc/shared/postgres'
import { makeNewHome, withStoreOf } from '../cluster/index.ts'
import { type HomeLayout, homeLayout, openHome, writeSecret } from '../home/index.ts'
import { copyFiles, tellProblems } from './copy-files.ts'
import {
  keptSecrets,
  type Manifest,
  readManifest,
  secretsFolder,
  storageFolder,
  tableFile,
  virtualServersFile,
} from './manifest.ts'

/** What was made from a backup. */
export interface RestoreResult {
  readonly home: string
  readonly createdAt: string
  readonly files: number
}

/**
 * Makes a new home from a backup, whole or not at all: checks every table against its checksum, fills the store and
 * deep storage, and checks every file against its segment. Nothing runs in it afterwards. Throws a Failure where the
 * backup is not whole or the home exists, or the reason of the signal.
 */
export async function restore(
  folder: string,
  homeFolder: string,
  signal: AbortSignal,
): Promise<RestoreResult> {
  const manifest = readManifest(folder)
  if (!canRestore(manifest.migrations)) {
    throw conflict(
      `The backup [${folder}] was made by a version with another schema [${manifest.migrations.at(-1)}]: restore it with that version`,
    )
  }
  const { root } = homeLayout(homeFolder)
  try {
    return await makeNewHome(root, async (growing) => {
      await checkTables(folder, manifest, signal)
      await fillHome(openHome(growing), folder, manifest, signal)
      signal.throwIfAborted()
      return { home: root, createdAt: manifest.createdAt, files: manifest.files }
    })
  } catch (error) {
    // What is ended by the signal tells of it in its own way.
    signal.throwIfAborted()
    throw error
  }
}

async function checkTables(folder: string, { tables }: Manifest, signal: AbortSignal): Promise<void> {
  for (const { name, sha256 } of tables) {
    const hash = createHash('sha256')
    await pipeline(createReadStream(tableFile(folder, name)), hash, { signal }).catch((error) => {
      throw unavailable(`Table [${name}] of the backup cannot be read: ${describeError(error)}`)
    })
    if (hash.digest('hex') !== sha256) {
      throw conflict(
        `Table [${name}] of the backup is damaged: [${tableFile(folder, name)}] has another checksum`,
      )
    }
  }
}

async function fillHome(
  home: HomeLayout,
  folder: string,
  { migrations, tables }: Manifest,
  signal: AbortSignal,
): Promise<void> {
  for (const name of keptSecrets) {
    const file = path.join(secretsFolder(folder), name)
    if (existsSync(file)) writeSecret(home, name, await readFile(file, 'utf8'))
  }
  await withStoreOf(home, signal, async (database) => {
    await restoreTables(database, migrations, tables, (name) =>
      addAbortSignal(signal, createReadStream(tableFile(folder, name)).pipe(createGunzip())),
    )
    const listFile = path.join(home.tasks, 'files')
    await dumpFiles(database, createWriteStream(listFile))
    const copied = await copyFiles(listFile, storageFolder(folder), home.deepStorage, { signal })
    if (copied.problems.length > 0)
      throw conflict(`The backup [${folder}] is damaged: in its deep storage, ${tellProblems(copied)}`)
    await rm(listFile)
  })
  if (existsSync(virtualServersFile(folder))) await copyFile(virtualServersFile(folder), home.virtualServers)
}
