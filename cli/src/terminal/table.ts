import { emphasized } from './text.ts'

/** Rows under a header as lines of aligned columns; empty columns are left out, the last one is not padded. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const shown = header.map((_, column) => rows.some((row) => row[column] !== ''))
  const pick = (row: readonly string[]) => row.filter((_, column) => shown[column])
  const table = [header, ...rows].map(pick)
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
