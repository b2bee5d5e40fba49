import type { Table } from '../terminal/index.ts'
import { printJson } from './print.ts'

/** Prints an answer as JSON, or as a table: its first rows, or all of them. An empty table prints `none` instead. */
export async function printAnswer(
  json: boolean | undefined,
  answer: unknown,
  table: Table,
  none: string,
  { allRows = false }: { readonly allRows?: boolean } = {},
): Promise<void> {
  if (json) {
    printJson(answer)
    return
  }
  const { formatLongTable, formatTable } = await import('../terminal/index.ts')
  const shown = allRows ? formatTable(table.header, table.rows) : formatLongTable(table)
  process.stdout.write(`${table.rows.length === 0 ? none : shown}\n`)
}
