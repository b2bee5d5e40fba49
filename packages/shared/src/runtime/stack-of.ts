import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'
import { keepNewest } from './keep-newest.ts'

/**
 * Returns the stack trace of an error with positions and names of the sources; undefined if it is not an Error. Only errors
 * that are logged need source maps: loaded at the start, they would cost each process time and memory.
 */
export function stackOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.stack === undefined) return undefined
  const lines = error.stack.split('\n')
  // The message comes first. It may contain text of a caller, of any length, that looks like frames.
  return lines.map((line, index) => (lines.length - index <= maxFrames ? sourceLine(line) : line)).join('\n')
}

// More than V8 adds to a stack trace.
const maxFrames = 50
const maxLineLength = 1000
const maxKeptLines = 1000
const keptLines = new Map<string, string>()

/** Returns a line of a stack trace with the position in the sources. Keeps it, because finding names takes milliseconds. */
function sourceLine(line: string): string {
  if (line.length > maxLineLength || !line.startsWith('    at ')) return line
  const kept = keptLines.get(line)
  if (kept !== undefined) return kept
  const shown = line.replace(frame, sourceFrame)
  if (shown !== line) keepNewest(keptLines, line, shown, maxKeptLines)
  return shown
}

/** The names of a frame, such as `Reader.read` or `async main`, and its position. */
const frame =
  /(?:(?<= at (?:async )?(?:new )?)(?!async |new )([\w$]+)(?:\.([\w$]+))?([^\n()]*) \()?(file:[^\s()?#]+):(\d+):(\d+)/g

function sourceFrame(text: string, ...groups: (string | undefined)[]): string {
  const [first, last, alias = '', url, line, column] = groups as [string?, string?, string?, ...string[]]
  const bundle = bundleOf(url!)
  const place = { line: Number(line) - 1, column: Number(column) - 1 }
  const entry = bundle?.map.findEntry(place.line, place.column)
  if (bundle === undefined || entry === undefined || !('originalSource' in entry)) return text
  const { originalSource, originalLine, originalColumn } = entry
  const position = `${fileURLToPath(new URL(originalSource, url))}:${originalLine + 1}:${originalColumn + 1}`
  if (first === undefined) return position
  const source = sourceName(bundle, first, place)
  if (last === undefined) return `${source ?? first}${alias} (${position}`
  // Only classes of the bundle have short names, and their methods do not. Other objects may have short functions.
  const method = source === undefined ? (sourceName(bundle, last, place) ?? last) : last
  return `${source ?? first}.${method}${alias} (${position}`
}

interface Bundle {
  readonly lines: readonly string[]
  readonly map: SourceMap
}

interface Place {
  readonly line: number
  readonly column: number
}

/**
 * The name in the sources of a function or class that has a shorter name in the bundle. Source maps contain the names of
 * definitions. The definition for a place is the last one before it with the same name; for a class that inherits a method,
 * it may follow.
 */
function sourceName({ lines, map }: Bundle, name: string, place: Place): string | undefined {
  const quoted = name.replaceAll('$', '\\$')
  const definition = new RegExp(
    `(?<=\\b(?:function ?\\*? ?|class ))${quoted}(?![\\w$])|` +
      `(?<![\\w$.])${quoted}(?==(?:async\\b ?)?(?:function\\b|class\\b|\\([^()]*\\)=>|[\\w$]+=>))`,
    'g',
  )
  const definitions = lines.flatMap((text, line) =>
    [...text.matchAll(definition)].map(({ index: column }) => ({ line, column })),
  )
  const isBefore = ({ line, column }: Place): boolean =>
    line < place.line || (line === place.line && column < place.column)
  const found = definitions.findLast(isBefore) ?? definitions[0]
  if (found === undefined) return undefined
  const entry = map.findEntry(found.line, found.column)
  const isExact = 'generatedColumn' in entry && entry.generatedColumn === found.column
  return isExact ? (entry as { readonly name?: string }).name : undefined
}

const bundles = new Map<string, Bundle>()

/** A bundled file with its source map; undefined for other files, and if another build has replaced the file. */
function bundleOf(url: string): Bundle | undefined {
  const bundle = bundles.get(url) ?? readBundle(url)
  if (bundle) bundles.set(url, bundle)
  return bundle
}

function readBundle(url: string): Bundle | undefined {
  try {
    const map = new SourceMap(JSON.parse(readFileSync(fileURLToPath(`${url}.map`), 'utf8')))
    return { map, lines: readFileSync(fileURLToPath(url), 'utf8').split('\n') }
  } catch {
    return undefined
  }
}
