import { createReadStream } from 'node:fs'
import { Failure } from '@svc/domain/failure'
import type { FileChecksum } from '@svc/shared/deep-storage'
import { linesOf } from '@svc/shared/wire'

/** What was copied, and which files are missing or have changed since they were stored. */
export interface CopiedFiles {
  readonly files: number
  readonly sizeBytes: number
  readonly problems: readonly string[]
}

// Copying from or to S3 mostly waits.
const copiedAtOnce = 8

/**
 * Calls `copy` with the path of each file of a list written by `dumpFiles`, and compares what it returns with the list.
 * A file for which it throws notFound is missing; one for which it throws invalidInput has a path outside of deep storage.
 * Throws any other error of `copy`, or the reason of the signal.
 */
export async function copyFiles(
  listFile: string,
  copy: (path: string) => Promise<FileChecksum>,
  { signal, onProgress }: { signal: AbortSignal; onProgress?: (files: number, sizeBytes: number) => void },
): Promise<CopiedFiles> {
  let files = 0
  let sizeBytes = 0
  const problems: string[] = []

  async function copyOne(line: string): Promise<void> {
    // The list may come from a backup that was tampered with.
    const [checksum, size, path] = line.split('\t') as [string, string, string]
    const found = await copy(path).catch((error: unknown) => {
      if (error instanceof Failure && error.code === 'notFound') return 'is missing'
      if (error instanceof Failure && error.code === 'invalidInput') return 'is not a path in deep storage'
      throw error
    })
    files += 1
    if (typeof found === 'string') problems.push(`[${path}] ${found}`)
    else if (found.sizeBytes !== Number(size))
      problems.push(`[${path}] is [${found.sizeBytes}] bytes long: expected [${size}]`)
    else if (found.checksum !== checksum) problems.push(`[${path}] has a different checksum`)
    if (typeof found !== 'string') sizeBytes += found.sizeBytes
    if (files % 1000 === 0) onProgress?.(files, sizeBytes)
  }

  const lines = linesOf(createReadStream(listFile))[Symbol.asyncIterator]()
  let failure: { readonly error: unknown } | undefined
  const worker = async (): Promise<void> => {
    try {
      for (let line = await lines.next(); !line.done && !failure; line = await lines.next()) {
        signal.throwIfAborted()
        await copyOne(line.value)
      }
    } catch (error) {
      failure ??= { error }
    }
  }
  // After a failure, no file is still being copied into a folder that is about to be removed.
  await Promise.all(Array.from({ length: copiedAtOnce }, worker))
  if (failure) throw failure.error
  onProgress?.(files, sizeBytes)
  return { files, sizeBytes, problems }
}

/** How many files have a problem, and the first of them, as part of a sentence. */
export function describeProblems({ files, problems }: CopiedFiles): string {
  const first = problems.slice(0, 3)
  const more = problems.length > first.length ? ', …' : ''
  return `[${problems.length}] of [${files}] files are missing or have changed (${first.join(', ')}${more})`
}
