import { constants, createReadStream } from 'node:fs'
import { copyFile, mkdir } from 'node:fs/promises'
import path from 'node:path'
import { checksumOfFile, errorCode, storageFailure } from '@svc/shared/deep-storage'
import { linesOf } from '@svc/shared/wire'

/** What was copied, and which files are missing or have changed since they were stored. */
export interface CopiedFiles {
  readonly files: number
  readonly sizeBytes: number
  readonly problems: readonly string[]
}

/**
 * Copies the files of a list written by `dumpFiles` from one deep storage folder to another, and compares the size and
 * checksum of each copy with those in the list. Throws a Failure if copying fails, or the reason of the signal.
 */
export async function copyFiles(
  listFile: string,
  from: string,
  to: string,
  { signal, onProgress }: { signal: AbortSignal; onProgress?: (files: number, sizeBytes: number) => void },
): Promise<CopiedFiles> {
  let files = 0
  let sizeBytes = 0
  const problems: string[] = []
  const createdFolders = new Set<string>()
  for await (const line of linesOf(createReadStream(listFile))) {
    signal.throwIfAborted()
    const [checksum, size, relative] = line.split('\t') as [string, string, string]
    files += 1
    const source = path.join(from, relative)
    const target = path.join(to, relative)
    // The list may come from a backup that was tampered with.
    if (!target.startsWith(to + path.sep)) {
      problems.push(`[${relative}] is not a path in deep storage`)
      continue
    }
    const parent = path.dirname(target)
    if (!createdFolders.has(parent)) {
      await mkdir(parent, { recursive: true })
      createdFolders.add(parent)
    }
    try {
      await copyFile(source, target, constants.COPYFILE_FICLONE)
    } catch (error) {
      if (errorCode(error) !== 'ENOENT')
        throw storageFailure(`Failed to copy file [${source}] of deep storage`, source, error)
      problems.push(`[${relative}] is missing`)
      continue
    }
    const found = await checksumOfFile(target, signal)
    if (found.sizeBytes !== Number(size))
      problems.push(`[${relative}] has [${found.sizeBytes}] bytes, expected [${size}]`)
    else if (found.checksum !== checksum) problems.push(`[${relative}] has a different checksum`)
    sizeBytes += found.sizeBytes
    if (files % 1000 === 0) onProgress?.(files, sizeBytes)
  }
  onProgress?.(files, sizeBytes)
  return { files, sizeBytes, problems }
}

/** How many files have a problem, and the first of them, as part of a sentence. */
export function describeProblems({ files, problems }: CopiedFiles): string {
  const first = problems.slice(0, 3)
  const more = problems.length > first.length ? ', …' : ''
  return `[${problems.length}] of [${files}] files are missing or have changed: ${first.join(', ')}${more}`
}
