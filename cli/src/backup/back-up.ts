import { createHash } from 'node:crypto'
import { createWriteStream, existsSync } from 'node:fs'
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { PassThrough, Transform, type Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { conflict } from '@svc/domain/failure'
import type { FileStore } from '@svc/shared/deep-storage'
import { type Database, dumpTables, knownMigrations } from '@svc/shared/postgres'
import { createNewFolder, type HomeLayout, readSecret } from '../home/index.ts'
import { copyFiles, describeProblems } from './copy-files.ts'
import {
  type HomeFile,
  type HomeFilePath,
  keptSecrets,
  type Manifest,
  manifestFile,
  secretPath,
  storageFolder,
  tableFile,
  virtualHomeFiles,
  virtualHomePaths,
} from './manifest.ts'

/** Progress of a backup. */
export interface BackupProgress {
  readonly phase: 'tables' | 'files'
  readonly files: number
  readonly sizeBytes: number
}

/** Result of a backup. */
export interface BackupResult extends Omit<Manifest, 'tables' | 'homeFiles'> {
  readonly folder: string
}

/**
 * Writes a consistent snapshot of the metadata store, and every file of deep storage that it references, to a new
 * folder, which appears only when it is complete. The cluster may keep running. Throws a Failure if that is not
 * possible, or if a file is missing or has changed since it was stored.
 */
export async function backUp(
  { database, home, storage }: { database: Database; home: HomeLayout; storage: FileStore },
  folder: string,
  onProgress: (progress: BackupProgress) => void,
  signal: AbortSignal,
): Promise<BackupResult> {
  return createNewFolder(folder, async (growing) => {
    // The folder contains passwords.
    await chmod(growing, 0o700)
    await mkdir(path.join(growing, 'tables'))
    const homeFiles = await keepHomeFiles(home, growing)
    onProgress({ phase: 'tables', files: 0, sizeBytes: 0 })
    const sums = new Map<string, () => string>()
    const ends: Promise<void>[] = []
    const listFile = path.join(growing, 'files')
    const tables = await dumpTables(database, {
      table: (name) => {
        const { input, end, sum } = compressed(tableFile(growing, name))
        ends.push(end)
        sums.set(name, sum)
        return input
      },
      files: () => {
        const file = createWriteStream(listFile)
        ends.push(finished(file))
        return file
      },
    })
    await Promise.all(ends)
    const copied = await copyFiles(
      listFile,
      async (relative) => {
        const target = path.join(storageFolder(growing), relative)
        await mkdir(path.dirname(target), { recursive: true })
        return await storage.get(relative, target, { signal })
      },
      { signal, onProgress: (files, sizeBytes) => onProgress({ phase: 'files', files, sizeBytes }) },
    )
    const { files, sizeBytes } = copied
    if (copied.problems.length > 0) {
      throw conflict(
        `Deep storage [${storage.location}] is damaged: ${describeProblems(copied)}. If a kill task deleted files during ` +
          'the backup, run the backup again. Otherwise, restore the files, or mark their segments as unused and delete the segments with a kill task.',
      )
    }
    await rm(listFile)
    const manifest: Manifest = {
      format: 2,
      createdAt: new Date().toISOString(),
      migrations: knownMigrations(),
      tables: tables.map((table) => ({ ...table, sha256: sums.get(table.name)?.() ?? '' })),
      files,
      sizeBytes,
      homeFiles,
    }
    await writeFile(manifestFile(growing), `${JSON.stringify(manifest, null, 2)}\n`)
    const { tables: _, homeFiles: __, ...summary } = manifest
    return { folder, ...summary }
  })
}

/** Writes the secrets and the files of virtual servers of a home, as far as it has any; returns what was written. */
async function keepHomeFiles(home: HomeLayout, folder: string): Promise<HomeFile[]> {
  await mkdir(path.join(folder, 'secrets'), { mode: 0o700 })
  const found: HomeFile[] = []
  const keep = async (to: HomeFilePath, content: Buffer, sha256: string | null) => {
    await writeFile(path.join(folder, to), content, { mode: 0o600 })
    found.push({ path: to, sizeBytes: content.length, sha256 })
  }
  for (const name of keptSecrets) {
    const secret = readSecret(home, name)
    // A full disk leaves an empty file, which was never used as a password.
    if (secret) await keep(secretPath(name), Buffer.from(secret), null)
  }
  for (const name of virtualHomePaths) {
    const file = home[virtualHomeFiles[name]]
    if (!existsSync(file)) continue
    const content = await readFile(file)
    await keep(name, content, createHash('sha256').update(content).digest('hex'))
  }
  return found
}

/** A stream into a compressed file, its end, and, after that, the checksum of the file. */
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
