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
