import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** A file on disk. */
export interface FoundFile {
  readonly sizeBytes: number
  /** In the format of segment checksums. */
  readonly checksum: string
  /** The content of a .json file. */
  readonly json?: unknown
}

/**
 * Returns the files below a folder, by path relative to it. This function also runs on its own in containers.
 */
export function folderContents(folder: string): Record<string, FoundFile> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort()
  return Object.fromEntries(files.map((file) => [path.relative(folder, file), describeFile(file)]))
}

function describeFile(file: string): FoundFile {
  const bytes = readFileSync(file)
  return {
    sizeBytes: bytes.length,
    checksum: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
    ...(file.endsWith('.json') ? { json: JSON.parse(bytes.toString('utf8')) } : {}),
  }
}
