import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Returns the stack trace of an error with positions in the sources; undefined if it is not an Error. Only errors that
 * are logged need source maps: loaded at the start, they would cost each process time and memory.
 */
export function stackOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  return error.stack?.replace(/(file:[^\s()]+):(\d+):(\d+)/g, sourcePosition)
}

function sourcePosition(position: string, url: string, line: string, column: string): string {
  const map = sourceMapOf(url)
  const entry = map?.findEntry(Number(line) - 1, Number(column) - 1)
  if (entry === undefined || !('originalSource' in entry)) return position
  const { originalSource, originalLine, originalColumn } = entry
  return `${fileURLToPath(new URL(originalSource, url))}:${originalLine + 1}:${originalColumn + 1}`
}

const maps = new Map<string, SourceMap | undefined>()

/** The source map of a bundled file; undefined for other files, and if another build has replaced the file. */
function sourceMapOf(url: string): SourceMap | undefined {
  if (!maps.has(url)) maps.set(url, readSourceMap(url))
  return maps.get(url)
}

function readSourceMap(url: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(fileURLToPath(`${url}.map`), 'utf8')))
  } catch {
    return undefined
  }
}
