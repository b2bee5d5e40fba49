import { createHash } from 'node:crypto'
import { constants, createReadStream, createWriteStream, existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough, Transform, type Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { describeError, unavailable } from '@svc/domain/failure'
import { type Database, dumpTables, knownMigrations } from '@svc/shared/postgres'
import { type HomeLayout, makeNewFolder, secretFile } from '../home/index.ts'
import {
  keptSecrets,
  type Manifest,
  manifestFile,
  secretsFolder,
  storageFolder,
  tableFile,
  virtualServersFile,
} from './manifest.ts'

/** How far a backup is. */
export interface BackupProgress {
  readonly phase: 'tables' | 'files'
  readonly files: number
  readonly sizeBytes: number
}

/** What was written. */
export interface BackupResult extends Omit<Manifest, 'tables'> {
  readonly folder: string
}

/**
 * Writes the metadata store, as it is at one moment, and every file of deep storage that it names, into a new folder:
 * whole or not at all. The cluster may work on meanwhile. Throws a Failure where that is not possible.
 */
export async function backUp(
  { database, home, storageDirectory }: { database: Database; home: HomeLayout; storageDirectory: string },
  folder: string,
  onProgress: (progress: BackupProgress) => void,
  signal: AbortSignal,
): Promise<BackupResult> {
  return makeNewFolder(folder, async (growing) => {
    // Passwords lie in it.
    await chmod(growing, 0o700)
    await mkdir(path.join(growing, 'tables'))
    await keepSecrets(home, growing)
    // Of a home that was imported: nothing else could load its segments.
    if (existsSync(home.virtualServers)) await copyFile(home.virtualServers, virtualServersFile(growing))
    onProgress({ phase: 'tables', files: 0, sizeBytes: 0 })
    const sums = new Map<string, () => string>()
    const ends: Promise<void>[] = []
    const pathsFile = path.join(growing, 'paths')
    const tables = await dumpTables(database, {
      table: (name) => {
        const { input, end, sum } = compressed(tableFile(growing, name))
        ends.push(end)
        sums.set(name, sum)
        return input
      },
      paths: () => {
        const file = createWriteStream(pathsFile)
        ends.push(finished(file))
        return file
      },
    })
    await Promise.all(ends)
    const { files, sizeBytes } = await copyFiles(storageDirectory, growing, pathsFile, onProgress, signal)
    await rm(pathsFile)
    const manifest: Manifest = {
      format: 1,
      createdAt: new Date().toISOString(),
      migrations: knownMigrations(),
      tables: tables.map((table) => ({ ...table, sha256: sums.get(table.name)?.() ?? '' })),
      files,
      sizeBytes,
    }
    await writeFile(manifestFile(growing), `${JSON.stringify(manifest, null, 2)}\n`)
    const { tables: _, ...told } = manifest
    return { folder, ...told }
  })
}

async function keepSecrets(home: HomeLayout, folder: string): Promise<void> {
  await mkdir(secretsFolder(folder), { mode: 0o700 })
  for (const name of keptSecrets) {
    const file = secretFile(home, name)
    if (existsSync(file)) await copyFile(file, path.join(secretsFolder(folder), name))
  }
}

/** A stream into a compressed file, its end, and then the checksum of what lies on disk. */
function compressed(file: string): { input: Writable; end: Promise<void>; sum: () => string } {
  const hash = createHash('sha256')
  const input = new PassThrough()
  const hashed = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      hash.update(chunk)
      done(null, chunk)
    },
  })
  const output = createWriteStream(file)
  input.pipe(createGzip()).pipe(hashed).pipe(output)
  return { input, end: finished(output), sum: () => hash.digest('hex') }
}

async function copyFiles(
  storageDirectory: string,
  folder: string,
  pathsFile: string,
  onProgress: (progress: BackupProgress) => void,
  signal: AbortSignal,
): Promise<{ files: number; sizeBytes: number }> {
  let files = 0
  let sizeBytes = 0
  const madeFolders = new Set<string>()
  for await (const relative of createInterface({ input: createReadStream(pathsFile) })) {
    signal.throwIfAborted()
    const from = path.join(storageDirectory, relative)
    const to = path.join(storageFolder(folder), relative)
    const parent = path.dirname(to)
    if (!madeFolders.has(parent)) {
      await mkdir(parent, { recursive: true })
      madeFolders.add(parent)
    }
    try {
      await copyFile(from, to, constants.COPYFILE_FICLONE)
    } catch (error) {
      throw unavailable(
        `File [${from}] of deep storage cannot be copied (${describeError(error)}); where a kill task erased it meanwhile, begin the backup again`,
        {},
        error,
      )
    }
    files += 1
    sizeBytes += (await stat(to)).size
    if (files % 1000 === 0) onProgress({ phase: 'files', files, sizeBytes })
  }
  onProgress({ phase: 'files', files, sizeBytes })
  return { files, sizeBytes }
}
