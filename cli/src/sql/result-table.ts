import { emphasized } from '../terminal/index.ts'

/** A value of an answer, as JSON has it. */
export type Cell = unknown

const longestCell = 100

function cellText(cell: Cell): string {
  if (cell === null) return 'NULL'
  const text = typeof cell === 'string' ? cell : JSON.stringify(cell)
  // A line is a row: what would break it is shown as a blank.
  const line = text.replace(/[\r\n\t]+/g, ' ')
  return line.length > longestCell ? `${line.slice(0, longestCell - 1)}…` : line
}

/** Lines of a table whose columns are as wide as its first rows need. Numbers stand at the right. */
export class ResultTable {
  private readonly widths: number[]
  private readonly rightAligned: boolean[]
  private readonly header: readonly string[]

  constructor(header: readonly string[], firstRows: readonly (readonly Cell[])[]) {
    this.header = header
    this.widths = header.map((name, index) =>
      firstRows.reduce((width, row) => Math.max(width, cellText(row[index]).length), name.length),
    )
    this.rightAligned = header.map(
      (_, index) =>
        firstRows.length > 0 &&
        firstRows.every((row) => typeof row[index] === 'number' || row[index] === null) &&
        firstRows.some((row) => row[index] !== null),
    )
  }

  head(): string {
    const rule = this.widths.map((width) => '─'.repeat(width)).join('──')
    return `${emphasized(this.line(this.header))}\n${rule}\n`
  }

  row(cells: readonly Cell[]): string {
    return `${this.line(cells.map(cellText))}\n`
  }

  private line(texts: readonly string[]): string {
    return texts
      .map((text, index) => {
        const width = this.widths[index] ?? 0
        return this.rightAligned[index] ? text.padStart(width) : text.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  }
}
