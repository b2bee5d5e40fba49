import { type Table, withoutEmptyColumns } from './table.ts'
import { emphasized } from './text.ts'

const gap = '  '

/** The lines of a row. */
type RowLines = readonly string[]

/**
 * Lines of aligned columns under a header that fit into a number of characters, unless a single name is longer. If
 * necessary, cells take several lines, and the first column gets lines of its own. Omits empty columns.
 */
export function fittedTable(table: Table, columns: number): string[] {
  const { header, rows } = withoutEmptyColumns(table)
  const [first, ...others] = rowsIn([header, ...rows], columns)
  return [...first!.map(emphasized), ...others.flat()]
}

function rowsIn(table: readonly (readonly string[])[], columns: number): RowLines[] {
  const widths = widthsOf(table, (cell) => cell.length)
  if (totalOf(widths) <= columns || widths.length === 1) return table.map((row) => linesOf(row, widths))
  const names = new Set(table.map((row) => row[0]))
  // Rows of the same datasource read better together than in cells of several lines.
  const grouped = names.size < table.length ? groupedRows(table, columns) : undefined
  if (grouped !== undefined && fits(grouped, columns)) return grouped
  const narrow = narrowWidths(table, widths, columns)
  if (totalOf(narrow) <= columns) return table.map((row) => linesOf(row, narrow))
  return grouped ?? groupedRows(table, columns)
}

/** The rows without their first cells, which have lines of their own wherever they change. */
function groupedRows(table: readonly (readonly string[])[], columns: number): RowLines[] {
  const rest = rowsIn(
    table.map((row) => row.slice(1)),
    columns - gap.length,
  )
  return rest.map((lines, row) => {
    const name = table[row]![0]!
    const indented = lines.map((line) => `${gap}${line}`)
    return row > 0 && table[row - 1]![0] === name ? indented : [name, ...indented]
  })
}

const fits = (rows: readonly RowLines[], columns: number): boolean =>
  rows.every((lines) => lines.every(({ length }) => length <= columns))

/** Narrows the widest columns first, none further than its longest word. */
function narrowWidths(
  table: readonly (readonly string[])[],
  widths: readonly number[],
  columns: number,
): number[] {
  const minima = widthsOf(table, (cell) => maxLengthOf(wordsOf(cell)))
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
      (max, row) => Math.max(max, maxLengthOf(wrappedWords(wordsOf(row[widest]!), narrow[widest]!))),
      0,
    )
  }
  return narrow
}

function widthsOf(table: readonly (readonly string[])[], widthOf: (cell: string) => number): number[] {
  return table[0]!.map((_, column) => table.reduce((max, row) => Math.max(max, widthOf(row[column]!)), 0))
}

const totalOf = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1))

function linesOf(row: readonly string[], widths: readonly number[]): RowLines {
  const cells = row.map((cell, column) => wrappedWords(wordsOf(cell), widths[column]!))
  const height = cells.reduce((max, { length }) => Math.max(max, length), 0)
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((cell, column) => (cell[line] ?? '').padEnd(widths[column]!))
      .join(gap)
      .trimEnd(),
  )
}

/** The parts of a cell between which a line may end: words, sizes with their units, and the two ends of an interval. */
const wordsOf = (cell: string): string[] =>
  cell.match(/(?:[^ /]| (?=[kMGTPE]?B\b))*(?:\/| +|$)/g)?.filter(Boolean) ?? []

const maxLengthOf = (words: readonly string[]): number =>
  words.reduce((max, word) => Math.max(max, word.trimEnd().length), 0)

/** Fills lines with words, which include the spaces after them. */
function wrappedWords(words: readonly string[], columns: number): string[] {
  const lines = ['']
  for (const word of words) {
    const line = lines.at(-1)!
    if (line !== '' && line.length + word.trimEnd().length > columns) lines.push(word)
    else lines[lines.length - 1] = line + word
  }
  return lines.map((line) => line.trimEnd())
}

/** A sentence in lines that fit into a number of characters, all but the first indented. Longer words stay whole. */
export function wrappedText(text: string, columns: number, indent = ''): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!
    if (line === '') lines[lines.length - 1] = word
    else if (line.length + 1 + word.length <= columns) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(`${indent}${word}`)
  }
  return lines.join('\n')
}
