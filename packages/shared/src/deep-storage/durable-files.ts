import { mkdir, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** The code of an error of the operating system such as `ENOENT`; the name or text of any other. */
export function errorCode(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error) return String(error.code)
  return error instanceof Error ? error.message || error.name : String(error)
}

/** Makes what was created, renamed or removed in the folder survive a loss of power. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } catch (error) {
    // Some network file systems have no such operation for folders; they keep names in their own way.
    if (!['EINVAL', 'ENOTSUP', 'EPERM'].includes(errorCode(error))) throw error
  } finally {
    await handle.close()
  }
}

/** Creates the folder with those above it, as far as they are missing, so that they survive a loss of power. */
export async function makeDirectory(directory: string): Promise<void> {
  const first = await mkdir(directory, { recursive: true })
  if (first === undefined) return
  const top = dirname(resolve(first))
  for (let parent = dirname(resolve(directory)); ; parent = dirname(parent)) {
    await syncDirectory(parent)
    if (parent === top || parent === dirname(parent)) return
  }
}
