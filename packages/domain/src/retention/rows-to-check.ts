import type { SegmentTable } from '../inventory/index.ts'

// Numbers of rows and groups between two pauses: about a millisecond of work.
const scannedRows = 131_072
const sortedGroups = 4096

/**
 * Yields the rows that the next run must check, or those with a 1 in `marks`, and the other rows of their groups, in
 * the order of `groupsNewestFirst`. Unused segments come last. Yields undefined where the caller may pause. Segments that are
 * added during a pause are left to the next run.
 */
export function* rowsToCheck(
  table: SegmentTable,
  marks: { readonly [row: number]: number } = table.markedOf,
): Generator<number | undefined, void> {
  const { rowLimit, groupLimit } = table
  const unused: number[] = []
  const groups: number[] = []
  const isNoted = new Uint8Array(groupLimit)
  for (let row = 0; row < rowLimit; row += 1) {
    if (row % scannedRows === scannedRows - 1) yield
    if (marks[row] === 0) continue
    const group = table.groupOf[row]!
    if (group < 0) unused.push(row)
    if (group < 0 || group >= groupLimit || isNoted[group] === 1) continue
    isNoted[group] = 1
    groups.push(group)
  }
  for (const group of groupsNewestFirst(table, groups)) {
    if (group === undefined) yield
    else yield* rowsOfGroup(table, group)
  }
  yield* unused
}

/**
 * Yields groups in the order in which a run checks them, and undefined where the caller may pause. Like in Druid, segments with
 * newer intervals come first, so that they get what space there is. Of segments with the same interval, the greater name of a
 * datasource and the greater version come first.
 */
export function* groupsNewestFirst(
  table: SegmentTable,
  groups: readonly number[],
): Generator<number | undefined, void> {
  const names = table.datasourceNames
  const groupsByEnd = new Map<number, number[]>()
  for (const [index, group] of groups.entries()) {
    if (index % sortedGroups === sortedGroups - 1) yield
    const end = table.endOf[group]!
    const sameEnd = groupsByEnd.get(end)
    if (sameEnd === undefined) groupsByEnd.set(end, [group])
    else sameEnd.push(group)
  }
  // Sorts the groups of one end when their turn comes, so that a large table does not block for long.
  for (const end of Float64Array.from(groupsByEnd.keys()).sort().reverse())
    yield* groupsByEnd.get(end)!.sort((a, b) => compareNewestFirst(table, names, a, b))
}

/** Returns the used segments of a group in the order in which a run checks them: the greater partition number comes first. */
export function rowsOfGroup(table: SegmentTable, group: number): readonly number[] {
  const rows: number[] = []
  table.forEachRow(group, (row) => rows.push(row))
  return rows.sort((a, b) => table.partitionNumOf[b]! - table.partitionNumOf[a]!)
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

/**
 * Returns a function that returns whether a run checks a segment, given by row, before another one: in the order of
 * `rowsToCheck`.
 */
export function checkedBefore(table: SegmentTable): (row: number, other: number) => boolean {
  const names = table.datasourceNames
  return (row, other) => {
    const [group, otherGroup] = [table.groupOf[row]!, table.groupOf[other]!]
    if (group < 0 || otherGroup < 0) return group >= 0 || (otherGroup < 0 && row < other)
    if (group === otherGroup) return table.partitionNumOf[row]! > table.partitionNumOf[other]!
    const byEnd = descending(table.endOf[group]!, table.endOf[otherGroup]!)
    return (byEnd || compareNewestFirst(table, names, group, otherGroup)) < 0
  }
}
