import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describeError, invalidInput } from '@svc/domain/failure'
import { checksumOfFile } from '@svc/shared/deep-storage'
import { z } from 'zod'

/** What a snapshot says of its files; written last. Equal snapshots have equal ones, so there is no time in it. */
export const snapshotManifestFile = 'snapshot.json'

const schema = z.object({
  format: z.literal(1),
  files: z.record(z.string(), z.object({ sizeBytes: z.int(), sha256: z.string() })),
})

/** Writes what the files of a folder are, so that one that is cut or changed later is known. */
export async function writeSnapshotManifest(folder: string, files: readonly string[]): Promise<void> {
  const entries = await Promise.all(
    files.map(async (name) => [name, await describeFile(path.join(folder, name))] as const),
  )
  const manifest: z.infer<typeof schema> = { format: 1, files: Object.fromEntries(entries) }
  await writeFile(path.join(folder, snapshotManifestFile), `${JSON.stringify(manifest, null, 2)}\n`)
}

/**
 * Compares the files of a folder with what its manifest says; whether it has one. Throws a Failure that tells of each
 * file that is missing, cut or changed, and of each of `read` that is there and not in the manifest.
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
    .map((name) => `[${name}] was not written by it`)
  for (const [name, written] of Object.entries(files)) {
    const found = await describeFile(path.join(folder, name)).catch((error: unknown) => describeError(error))
    if (typeof found === 'string') problems.push(`[${name}] cannot be read: ${found}`)
    else if (found.sizeBytes !== written.sizeBytes)
      problems.push(`[${name}] has [${found.sizeBytes}] bytes, written were [${written.sizeBytes}]`)
    else if (found.sha256 !== written.sha256) problems.push(`[${name}] was changed`)
  }
  if (problems.length === 0) return true
  throw invalidInput(
    `Folder [${folder}] is not as ./svc export wrote it; without its file [${snapshotManifestFile}] it is taken as it is\n${problems.map((line) => `  ${line}`).join('\n')}`,
  )
}

function readManifest(folder: string, text: string): z.infer<typeof schema> {
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    throw invalidInput(
      `File [${path.join(folder, snapshotManifestFile)}] is not what ./svc export writes, or of another version`,
    )
  }
}

async function describeFile(file: string): Promise<{ sizeBytes: number; sha256: string }> {
  const { sizeBytes, checksum } = await checksumOfFile(file)
  return { sizeBytes, sha256: checksum.slice('sha256:'.length) }
}
