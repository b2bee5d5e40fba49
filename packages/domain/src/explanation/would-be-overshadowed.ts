import type { SegmentTable } from '../inventory/index.ts'
import { analyzeTimelineInSteps, type TimelineSegment } from '../timeline/index.ts'

// Number of groups between two pauses.
const slice = 5000

/**
 * Returns whether used segments of a datasource would overshadow an unused segment of it, so that it cannot be marked as used. Yields
 * regularly.
 */
export function* wouldBeOvershadowed(
  table: SegmentTable,
  dataSource: string,
  segment: TimelineSegment,
): Generator<undefined, boolean> {
  const { start, end } = segment.interval
  const number = table.datasourceNumber(dataSource)
  const newer: TimelineSegment[] = []
  let checked = 0
  // Copied, because groups come and go during pauses.
  for (const group of number < 0 ? [] : table.groupsOf(number).slice()) {
    checked += 1
    if (checked % slice === 0) yield
    if (table.datasourceOf[group] !== number || table.version(group) <= segment.version) continue
    if (table.startOf[group]! < end && table.endOf[group]! > start)
      table.forEachRow(group, (row) => newer.push(table.segment(row)))
  }
  return (yield* analyzeTimelineInSteps([segment, ...newer])).overshadowed[0]!
}
