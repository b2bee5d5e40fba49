import { formatCount } from '@svc/domain/text'
import { emphasized } from './text.ts'

/** Header and rows of a table. */
export interface Table {
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Returns a table without its empty columns. */
export function withoutEmptyColumns({ header, rows }: Table): Table {
  const shown = header.map((_, column) => rows.some((row) => row[column] !== ''))
  const pick = (row: readonly string[]) => row.filter((_, column) => shown[column])
  return { header: pick(header), rows: rows.map(pick) }
}

/** Lines of aligned columns under a header. Omits empty columns, and does not pad the last one. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const shown = withoutEmptyColumns({ header, rows })
  const table = [shown.header, ...shown.rows]
  const widths = table[0]!.map((_, column) =>
    table.reduce((widest, row) => Math.max(widest, row[column]!.length), 0),
  )
  const lines = table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
  return [emphasized(lines[0]!), ...lines.slice(1)].join('\n')
}

const maxShownRows = 200

/** A table that shows only the first rows, with the number of the others. */
export function formatLongTable({ header, rows }: Table): string {
  const more = rows.length - maxShownRows
  const rest = more > 0 ? `\n… and ${formatCount(more)} more (--json shows all)` : ''
  return `${formatTable(header, rows.slice(0, maxShownRows))}${rest}`
}
