import { readFileSync, statSync } from 'node:fs'

/** Returns what a path leads to if that is not a file, such as `a folder`; undefined if it is one or does not exist. */
export function nonFileAt(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined || found.isFile()) return undefined
  if (found.isDirectory()) return 'a folder'
  if (found.isFIFO()) return 'a named pipe'
  return found.isSocket() ? 'a socket' : 'a device'
}

/** Returns the bytes of a file. Throws an Error if it is not a regular file, or cannot be read. */
export function readRegularFile(path: string): Buffer<ArrayBuffer> {
  const other = nonFileAt(path)
  if (other !== undefined) throw new Error(`The path is ${other}: expected a file`)
  return readFileSync(path)
}
