import { copyFlag, type SegmentTable } from '../inventory/index.ts'
import { rowsToCheck } from '../retention/index.ts'

/**
 * Returns what is in the load queue of a server, given by number, before a segment that is in it, given by row: loads that
 * were requested earlier, or by the same run for segments that come first. Scans all replicas once.
 */
export function queuedLoads(
  table: SegmentTable,
  row: number,
  server: number,
): { readonly before: number; readonly bytesBefore: number } {
  const { copies, sizeOf } = table
  const sentAt = copies.sentAtOf[copies.find(row, server)]!
  const marks = new Uint8Array(table.rowLimit)
  marks[row] = 1
  let before = 0
  let bytesBefore = 0
  const add = (other: number): void => {
    before += 1
    bytesBefore += sizeOf[other]!
  }
  for (let entry = 0; entry < copies.limit; entry += 1) {
    if (copies.serverOf[entry] !== server || (copies.flagsOf[entry]! & copyFlag.loading) === 0) continue
    const other = copies.rowOf[entry]!
    if (copies.sentAtOf[entry]! < sentAt) add(other)
    else if (copies.sentAtOf[entry] === sentAt) marks[other] = 1
  }
  for (const other of rowsToCheck(table, marks)) {
    if (other === row) break
    // Other segments of the same interval are yielded, too.
    if (marks[other] === 1) add(other)
  }
  return { before, bytesBefore }
}
