import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describeError, invalidInput } from '@svc/domain/failure'
import { checksumOfFile } from '@svc/shared/deep-storage'
import { z } from 'zod'

/** The list of a snapshot's files, written last. Equal snapshots have equal manifests, so it has no timestamp. */
export const snapshotManifestFile = 'snapshot.json'

const schema = z.object({
  format: z.literal(1),
  files: z.record(z.string(), z.object({ sizeBytes: z.int(), sha256: z.string() })),
})

/** Writes sizes and checksums of the files in a folder, so that later changes can be detected. */
export async function writeSnapshotManifest(folder: string, files: readonly string[]): Promise<void> {
  const entries = await Promise.all(
    files.map(async (name) => [name, await describeFile(path.join(folder, name))] as const),
  )
  const manifest: z.infer<typeof schema> = { format: 1, files: Object.fromEntries(entries) }
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
  const { files } = readManifest(folder, text)
  const problems = read
    .filter((name) => existsSync(path.join(folder, name)) && !Object.hasOwn(files, name))
    .map((name) => `[${name}] is not part of the export`)
  for (const [name, written] of Object.entries(files)) {
    const found = await describeFile(path.join(folder, name)).catch((error: unknown) => describeError(error))
    if (typeof found === 'string') problems.push(`[${name}] is unreadable: ${found}`)
    else if (found.sizeBytes !== written.sizeBytes)
      problems.push(`[${name}] is [${found.sizeBytes}] bytes long, expected [${written.sizeBytes}]`)
    else if (found.sha256 !== written.sha256) problems.push(`[${name}] was changed`)
  }
  if (problems.length === 0) return true
  throw invalidInput(
    `Folder [${folder}] has changed since ./svc export wrote it. To use it anyway, delete its file [${snapshotManifestFile}].\n${problems.map((line) => `  ${line}`).join('\n')}`,
  )
}

function readManifest(folder: string, text: string): z.infer<typeof schema> {
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    throw invalidInput(
      `File [${path.join(folder, snapshotManifestFile)}] is damaged or was written by an incompatible version of ./svc export`,
    )
  }
}

async function describeFile(file: string): Promise<{ sizeBytes: number; sha256: string }> {
  const { sizeBytes, checksum } = await checksumOfFile(file)
  return { sizeBytes, sha256: checksum.slice('sha256:'.length) }
}
