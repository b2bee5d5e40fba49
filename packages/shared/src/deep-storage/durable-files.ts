import { mkdir, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** Returns the code of an operating system error, such as `ENOENT`; for other errors, the message or name. */
export function errorCode(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error) return String(error.code)
  return error instanceof Error ? error.message || error.name : String(error)
}

/** Makes files that were created, renamed, or removed in the folder survive a power failure. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } catch (error) {
    // Some network file systems do not support this for folders; they persist names in their own way.
    if (!['EINVAL', 'ENOTSUP', 'EPERM'].includes(errorCode(error))) throw error
  } finally {
    await handle.close()
  }
}

/** Creates the folder and its missing parents so that they survive a power failure. */
export async function createDirectory(directory: string): Promise<void> {
  const first = await mkdir(directory, { recursive: true })
  if (first === undefined) return
  const top = dirname(resolve(first))
  for (let parent = dirname(resolve(directory)); ; parent = dirname(parent)) {
    await syncDirectory(parent)
    if (parent === top || parent === dirname(parent)) return
  }
}
