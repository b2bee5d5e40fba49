import { formatCount } from '@svc/domain/text'
import { fittedTable } from './fit-table.ts'
import type { Table } from './table.ts'
import { columnsOf } from './text.ts'

/**
 * Lines of aligned columns under a header, without empty columns. In a terminal, they fit into its width. Otherwise, each
 * row is one line, for programs.
 */
export function formatTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  output: { readonly isTTY?: boolean; readonly columns?: number | undefined } = process.stdout,
): string {
  const columns = output.isTTY ? columnsOf(output) : Number.POSITIVE_INFINITY
  return fittedTable({ header, rows }, columns, { breaksNames: true }).join('\n')
}

const maxShownRows = 200

/** A table that shows only the first rows, with the number of the others. */
export function formatLongTable({ header, rows }: Table): string {
  const more = rows.length - maxShownRows
  const rest = more > 0 ? `\n… and ${formatCount(more)} more (--json shows all)` : ''
  return `${formatTable(header, rows.slice(0, maxShownRows))}${rest}`
}
