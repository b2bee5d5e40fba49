import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'

/** Size and checksum of a file; the checksum is `sha256:` and the hexadecimal digest. */
export interface FileChecksum {
  readonly sizeBytes: number
  readonly checksum: string
}

const maxBlockBytes = 1 << 20
const minBlockBytes = 4096

/** Maps a failed read of the source, or a failed write of the target, to the error to throw. */
export interface CopyErrors {
  read(error: unknown): unknown
  write(error: unknown): unknown
}

/**
 * Reads the source to its end in blocks, and writes each block to the target, if any, while the next is read. Returns
 * size and checksum of what was read. Throws the signal's reason if aborted; stops early after more than `maxBytes`.
 */
export async function streamWithChecksum(
  source: FileHandle,
  target: FileHandle | undefined,
  errors: CopyErrors,
  { signal, maxBytes = Infinity }: { signal?: AbortSignal | undefined; maxBytes?: number } = {},
): Promise<FileChecksum> {
  const hash = createHash('sha256')
  const read = async (block: Buffer): Promise<Buffer> => {
    signal?.throwIfAborted()
    try {
      const { bytesRead } = await source.read(block, 0, block.length, null)
      return block.subarray(0, bytesRead)
    } catch (error) {
      throw errors.read(error)
    }
  }
  const write = async (block: Buffer): Promise<void> => {
    if (target === undefined) return
    try {
      for (let done = 0; done < block.length; ) {
        done += (await target.write(block, done, block.length - done)).bytesWritten
      }
    } catch (error) {
      throw errors.write(error)
    }
  }
  const { size } = await source.stat().catch((error: unknown) => {
    throw errors.read(error)
  })
  // Small files get small blocks: megabytes of buffers for each of many files would keep the garbage collector busy.
  const blockBytes = Math.min(Math.max(size, minBlockBytes), maxBlockBytes)
  const blocks = [Buffer.allocUnsafe(blockBytes), Buffer.allocUnsafe(blockBytes)] as const
  let sizeBytes = 0
  let block = await read(blocks[0])
  for (let turn = 1; block.length > 0 && sizeBytes <= maxBytes; turn++) {
    sizeBytes += block.length
    hash.update(block)
    const [following] = await Promise.all([read(blocks[turn % 2 === 0 ? 0 : 1]), write(block)])
    block = following
  }
  return { sizeBytes, checksum: `sha256:${hash.digest('hex')}` }
}

/** Returns size and checksum of a file. Rejects with the operating system's error or the signal's reason. */
export async function checksumOfFile(file: string, signal?: AbortSignal): Promise<FileChecksum> {
  const source = await open(file, 'r')
  try {
    const asIs = (error: unknown): unknown => error
    return await streamWithChecksum(source, undefined, { read: asIs, write: asIs }, { signal })
  } finally {
    await source.close()
  }
}
