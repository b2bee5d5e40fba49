import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { copyFile, cp, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { conflict, describeError, unavailable } from '@svc/domain/failure'
import { canRestore, restoreTables } from '@svc/shared/postgres'
import { withStoreOf } from '../cluster/index.ts'
import { homeLayout, openHome, writeSecret } from '../home/index.ts'
import {
  keptSecrets,
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
 * Makes a new home from a backup, whole or not at all: checks every table against its checksum, then fills the store
 * and deep storage. Nothing runs in it afterwards. Throws a Failure where the backup is not whole or the home exists.
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
  for (const { name, sha256 } of manifest.tables) {
    const hash = createHash('sha256')
    await pipeline(createReadStream(tableFile(folder, name)), hash).catch((error) => {
      throw unavailable(`Table [${name}] of the backup cannot be read: ${describeError(error)}`)
    })
    if (hash.digest('hex') !== sha256) {
      throw conflict(
        `Table [${name}] of the backup is damaged: [${tableFile(folder, name)}] has another checksum`,
      )
    }
  }
  const { root } = homeLayout(homeFolder)
  if (existsSync(root)) throw conflict(`[${root}] exists already: restore into a new home`)
  try {
    const home = openHome(root)
    for (const name of keptSecrets) {
      const file = path.join(secretsFolder(folder), name)
      if (existsSync(file)) writeSecret(home, name, await readFile(file, 'utf8'))
    }
    if (manifest.files > 0) await cp(storageFolder(folder), home.deepStorage, { recursive: true })
    await withStoreOf(home, signal, (database) =>
      restoreTables(database, manifest.migrations, manifest.tables, (name) =>
        createReadStream(tableFile(folder, name)).pipe(createGunzip()),
      ),
    )
    if (existsSync(virtualServersFile(folder)))
      await copyFile(virtualServersFile(folder), home.virtualServers)
    return { home: root, createdAt: manifest.createdAt, files: manifest.files }
  } catch (error) {
    await rm(root, { recursive: true, force: true })
    throw error
  }
}
