import { existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'

/**
 * Creates a folder and its parents, one by one: Node's own recursion never ends below /proc. Returns the first folder that was
 * created; undefined if the folder already exists. Throws the error of the file system.
 */
export function createWithParents(folder: string, mode?: number): string | undefined {
  if (existsSync(folder)) return undefined
  const first = createWithParents(path.dirname(folder), mode)
  mkdirSync(folder, mode)
  return first ?? folder
}
