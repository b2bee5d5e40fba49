import { IntervalUnion } from './interval-union.ts'
import type { SegmentTable } from './segment-table.ts'

/** Returns, for each of these overshadowed groups, the version that is visible where the group starts. */
export function overshadowingVersions(
  table: SegmentTable,
  groups: readonly number[],
): ReadonlyMap<number, string> {
  const { datasourceOf, endOf, hiddenOf, startOf } = table
  const versions = new Map<number, string>()
  for (const [datasource, hidden] of Map.groupBy(groups, (group) => datasourceOf[group]!)) {
    const union = new IntervalUnion(hidden.map((group) => ({ start: startOf[group]!, end: endOf[group]! })))
    const visible = Array.from(table.groupsOf(datasource))
      .filter((group) => hiddenOf[group] === 0 && union.overlaps(startOf[group]!, endOf[group]!))
      .sort((a, b) => startOf[a]! - startOf[b]!)
    let maxEnd = -Infinity
    const maxEnds = visible.map((group) => (maxEnd = Math.max(maxEnd, endOf[group]!)))
    let at = -1
    for (const group of hidden.toSorted((a, b) => startOf[a]! - startOf[b]!)) {
      const start = startOf[group]!
      while (at + 1 < visible.length && startOf[visible[at + 1]!]! <= start) at += 1
      let version: string | undefined
      for (let before = at; before >= 0 && maxEnds[before]! > start; before -= 1) {
        const other = visible[before]!
        if (endOf[other]! > start && (version === undefined || table.version(other) > version))
          version = table.version(other)
      }
      if (version !== undefined) versions.set(group, version)
    }
  }
  return versions
}
