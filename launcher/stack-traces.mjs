/**
 * Part of every bundle: stack traces show the lines of the sources. Loads source maps only for the stack traces that are
 * shown; with its option --enable-source-maps, Node.js loads all at its start, which takes memory and time.
 */
import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = path.dirname(fileURLToPath(import.meta.url))
const maps = new Map()

Error.prepareStackTrace = (error, frames) => {
  let text
  try {
    text = String(error)
  } catch {
    text = 'Error'
  }
  return [text, ...frames.map((frame) => `    at ${withSource(frame)}`)].join('\n')
}

/** A frame as text, with the position in the source if it is in a bundle. */
function withSource(frame) {
  const url = frame.getFileName()
  const text = String(frame)
  if (!url?.startsWith('file:')) return text
  const line = frame.getLineNumber()
  const column = frame.getColumnNumber()
  try {
    const { originalSource, originalLine, originalColumn } = mapOf(fileURLToPath(url)).findEntry(
      line - 1,
      column - 1,
    )
    if (originalSource === undefined) return text
    const source = path.resolve(folder, originalSource)
    return text.replace(
      `${url}:${line}:${column}`,
      () => `${source}:${originalLine + 1}:${originalColumn + 1}`,
    )
  } catch {
    // Another build may have replaced this one: the position in the bundle is better than none.
    return text
  }
}

function mapOf(file) {
  let map = maps.get(file)
  if (map === undefined) {
    map = new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')))
    maps.set(file, map)
  }
  return map
}
