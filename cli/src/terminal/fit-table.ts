import { escapeInvisible } from '@svc/domain/validation'
import { type Table, withoutEmptyColumns } from './table.ts'
import { emphasized } from './text.ts'

const gap = '  '

/** The lines of a row. */
type RowLines = readonly string[]

/** The words of a cell, with the spaces after them: a line may end between two words. */
type Cell = readonly string[]

/** How to fit a table into lines. */
interface FitOptions {
  /** Whether a line may also end within a name, if nothing else helps. */
  readonly breaksNames?: boolean
}

// Max length of a part of a name, in the order in which they are tried.
const partLengths = [40, 30, 20, 12]

/**
 * Lines of aligned columns under a header that fit into a number of characters, unless a single name is longer. If
 * necessary, cells take several lines, and the first column gets lines of its own. Omits empty columns.
 */
export function fittedTable(
  table: Table,
  columns: number,
  { breaksNames = false }: FitOptions = {},
): string[] {
  const { header, rows } = withoutEmptyColumns(table)
  // Without a limit, no line ends between two words, and finding the words of thousands of rows takes most of the time.
  const cellOf = columns === Number.POSITIVE_INFINITY ? (text: string): Cell => [text] : wordsOf
  const cells = [header, ...rows].map((row) => row.map((text) => cellOf(escapeInvisible(text))))
  let lines = rowsIn(cells, columns)
  for (const length of breaksNames ? partLengths : []) {
    if (fits(lines, columns)) break
    const broken = cells.map((row) => row.map((cell) => cell.flatMap((word) => partsOf(word, length))))
    lines = rowsIn(broken, columns)
  }
  const [first, ...others] = lines
  return [...first!.map(emphasized), ...others.flat()]
}

/** Rows in lines. `starts` are the rows whose earlier columns, if any, differ from those of the row before. */
function rowsIn(
  table: readonly (readonly Cell[])[],
  columns: number,
  starts: ReadonlySet<number> = new Set([0]),
): RowLines[] {
  const widths = widthsOf(table, lengthOf)
  if (totalOf(widths) <= columns) return table.map((row) => [lineOf(row.map(textOf), widths)])
  if (widths.length === 1) {
    const narrow = narrowWidths(table, widths, columns)
    return table.map((row) => linesOf(row, narrow))
  }
  const names = new Set(table.map((row) => textOf(row[0]!)))
  // Rows of the same datasource read better together than in cells of several lines.
  const grouped = names.size < table.length ? groupedRows(table, columns, starts) : undefined
  if (grouped !== undefined && fits(grouped, columns)) return grouped
  const narrow = narrowWidths(table, widths, columns)
  if (totalOf(narrow) <= columns) return table.map((row) => linesOf(row, narrow))
  return grouped ?? groupedRows(table, columns, starts)
}

/** The rows without their first cells, which have lines of their own wherever they change. */
function groupedRows(
  table: readonly (readonly Cell[])[],
  columns: number,
  starts: ReadonlySet<number>,
): RowLines[] {
  const changes = new Set(
    [...table.keys()].filter(
      (row) => starts.has(row) || textOf(table[row - 1]![0]!) !== textOf(table[row]![0]!),
    ),
  )
  const rest = rowsIn(
    table.map((row) => row.slice(1)),
    columns - gap.length,
    changes,
  )
  return rest.map((lines, row) => {
    const indented = lines.map((line) => `${gap}${line}`)
    return changes.has(row) ? [...wrappedWords(table[row]![0]!, columns), ...indented] : indented
  })
}

const fits = (rows: readonly RowLines[], columns: number): boolean =>
  rows.every((lines) => lines.every(({ length }) => length <= columns))

/** Narrows the widest columns first, none further than its longest word. */
function narrowWidths(
  table: readonly (readonly Cell[])[],
  widths: readonly number[],
  columns: number,
): number[] {
  const minima = widthsOf(table, maxLengthOf)
  const narrow = [...widths]
  while (totalOf(narrow) > columns) {
    const widest = narrow.reduce(
      (best, width, column) =>
        width > minima[column]! && (best < 0 || width > narrow[best]!) ? column : best,
      -1,
    )
    if (widest < 0) break
    narrow[widest] = narrow[widest]! - 1
    // Without the space that no line uses.
    narrow[widest] = table.reduce(
      (max, row) => Math.max(max, maxLengthOf(wrappedWords(row[widest]!, narrow[widest]!))),
      0,
    )
  }
  return narrow
}

function widthsOf(table: readonly (readonly Cell[])[], widthOf: (cell: Cell) => number): number[] {
  return table[0]!.map((_, column) => table.reduce((max, row) => Math.max(max, widthOf(row[column]!)), 0))
}

const totalOf = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1))

function linesOf(row: readonly Cell[], widths: readonly number[]): RowLines {
  const cells = row.map((cell, column) => wrappedWords(cell, widths[column]!))
  const height = cells.reduce((max, { length }) => Math.max(max, length), 0)
  return Array.from({ length: height }, (_, line) =>
    lineOf(
      cells.map((cell) => cell[line] ?? ''),
      widths,
    ),
  )
}

const lineOf = (texts: readonly string[], widths: readonly number[]): string =>
  texts
    .map((text, column) => text.padEnd(widths[column]!))
    .join(gap)
    .trimEnd()

/** The parts of a cell between which a line may end: words, sizes with their units, and the two ends of an interval. */
const wordsOf = (cell: string): Cell =>
  cell.match(/(?:[^ /]| (?=[kMGTPE]?B\b))*(?:\/| +|$)/g)?.filter(Boolean) ?? []

/** The parts of a word, each of at most `length` characters, that end after a separator where possible. */
function partsOf(word: string, length: number): string[] {
  const text = word.trimEnd()
  if (text.length <= length) return [word]
  const separated = /^.*[_.:,=-]/.exec(text.slice(0, length))?.[0] ?? ''
  const first = separated === '' ? text.slice(0, length) : separated
  return [first, ...partsOf(word.slice(first.length), length)]
}

const textOf = (cell: Cell): string => cell.join('')

const lengthOf = (cell: Cell): number => textOf(cell).length

const maxLengthOf = (words: Cell): number =>
  words.reduce((max, word) => Math.max(max, word.trimEnd().length), 0)

/** Fills lines with words. */
function wrappedWords(words: Cell, columns: number): string[] {
  const lines = ['']
  for (const word of words) {
    const line = lines.at(-1)!
    if (line !== '' && line.length + word.trimEnd().length > columns) lines.push(word)
    else lines[lines.length - 1] = line + word
  }
  return lines.map((line) => line.trimEnd())
}

/**
 * A sentence in lines that fit into a number of characters, all but the first indented in addition to the spaces at the
 * start. Longer words stay whole.
 */
export function wrappedText(text: string, columns: number, indent = ''): string {
  const start = /^ */.exec(text)![0]
  const [first, ...words] = text.slice(start.length).split(' ')
  const lines = [`${start}${first}`]
  for (const word of words) {
    const line = lines.at(-1)!
    if (line.length + 1 + word.length <= columns) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(`${start}${indent}${word}`)
  }
  return lines.join('\n')
}
