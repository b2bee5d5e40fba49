import type { SegmentTable } from '../inventory/index.ts'

/**
 * Yields the rows that the next run must check, or those with a 1 in `marks`, and the other rows of their groups. Like in
 * Druid, segments with newer intervals come first, so that they get what space there is. Of segments with the same interval,
 * the greater name of a datasource, the greater version, and the greater partition number come first. Unused segments come
 * last.
 */
export function* rowsToCheck(
  table: SegmentTable,
  marks: { readonly [row: number]: number } = table.markedOf,
): Generator<number, void> {
  const names = table.datasourceNames
  const unused: number[] = []
  const groupsByEnd = new Map<number, number[]>()
  const isNoted = new Uint8Array(table.groupLimit)
  for (let row = 0; row < table.rowLimit; row += 1) {
    if (marks[row] === 0) continue
    const group = table.groupOf[row]!
    if (group < 0) unused.push(row)
    if (group < 0 || isNoted[group] === 1) continue
    isNoted[group] = 1
    const end = table.endOf[group]!
    const groups = groupsByEnd.get(end)
    if (groups === undefined) groupsByEnd.set(end, [group])
    else groups.push(group)
  }
  // Sorts the groups of one end when their turn comes, so that a large table does not block for long.
  for (const end of Float64Array.from(groupsByEnd.keys()).sort().reverse()) {
    for (const group of groupsByEnd.get(end)!.sort((a, b) => compareNewestFirst(table, names, a, b))) {
      const rows: number[] = []
      table.forEachRow(group, (row) => rows.push(row))
      yield* rows.sort((a, b) => table.partitionNumOf[b]! - table.partitionNumOf[a]!)
    }
  }
  yield* unused
}

const descending = <Value extends number | string>(a: Value, b: Value): number => (a > b ? -1 : a < b ? 1 : 0)

function compareNewestFirst(table: SegmentTable, names: readonly string[], a: number, b: number): number {
  const { startOf, datasourceOf } = table
  return (
    descending(startOf[a]!, startOf[b]!) ||
    descending(names[datasourceOf[a]!]!, names[datasourceOf[b]!]!) ||
    descending(table.version(a), table.version(b))
  )
}
