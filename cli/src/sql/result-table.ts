import { emphasized } from '../terminal/index.ts'

/** A JSON value of an answer. */
export type Cell = unknown

const maxCellLength = 100

function cellText(cell: Cell): string {
  if (cell === null) return 'NULL'
  const text = typeof cell === 'string' ? cell : JSON.stringify(cell)
  // Each row is one line, so line breaks and tabs become spaces.
  const line = text.replace(/[\r\n\t]+/g, ' ')
  return line.length > maxCellLength ? `${line.slice(0, maxCellLength - 1)}…` : line
}

/** Formats the lines of a table. The first rows determine the column widths. Numbers are right-aligned. */
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
