import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describeError, invalidInput } from '@svc/domain/failure'
import {
  type FoundSnapshotFile,
  manifestProblems,
  readSnapshotManifest,
  type SnapshotFileEntry,
  type SnapshotManifest,
  snapshotManifestFile,
} from '@svc/domain/snapshot'
import { checksumOfFile } from '@svc/shared/deep-storage'

/** Writes sizes and checksums of the files in a folder, so that later changes can be detected. */
export async function writeSnapshotManifest(folder: string, files: readonly string[]): Promise<void> {
  const entries = await Promise.all(
    files.map(async (name) => [name, await describeFile(path.join(folder, name))] as const),
  )
  const manifest: SnapshotManifest = { format: 1, files: Object.fromEntries(entries) }
  await writeFile(path.join(folder, snapshotManifestFile), `${JSON.stringify(manifest, null, 2)}\n`)
}

/**
 * Compares the files of a folder with its manifest; returns whether it has one. Throws a Failure that lists files that
 * are missing, truncated, or changed, and files in `read` that exist but are not in the manifest.
 */
export async function checkSnapshotManifest(folder: string, read: readonly string[]): Promise<boolean> {
  const text = await readFile(path.join(folder, snapshotManifestFile), 'utf8').catch((error) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return false
  const manifest = readSnapshotManifest(text, path.join(folder, snapshotManifestFile))
  const unlisted = read.filter(
    (name) => existsSync(path.join(folder, name)) && !Object.hasOwn(manifest.files, name),
  )
  const found = new Map<string, FoundSnapshotFile>()
  for (const name of [...unlisted, ...Object.keys(manifest.files)]) {
    const file = await describeFile(path.join(folder, name)).catch((error: unknown) => ({
      problem: describeError(error),
    }))
    found.set(name, file)
  }
  const problems = manifestProblems(manifest, found)
  if (problems.length === 0) return true
  throw invalidInput(
    `Folder [${folder}] has changed since ./svc export wrote it. To use it anyway, delete its file [${snapshotManifestFile}].\n${problems.map((line) => `  ${line}`).join('\n')}`,
  )
}

async function describeFile(file: string): Promise<SnapshotFileEntry> {
  const { sizeBytes, checksum } = await checksumOfFile(file)
  return { sizeBytes, sha256: checksum.slice('sha256:'.length) }
}
