import { copyFlag, type SegmentTable } from '../inventory/index.ts'
import { rowsToCheck } from '../retention/index.ts'

/** What is in the load queue of a server before a segment. */
interface LoadsBefore {
  readonly before: number
  readonly bytesBefore: number
}

/**
 * Returns what is in the load queues of servers, given by number, before a segment that is in all of them, given by row: loads
 * that were requested earlier, or by the same run for segments that come first. Scans all pending requests once.
 */
export function queuedLoads(
  table: SegmentTable,
  row: number,
  servers: readonly number[],
): ReadonlyMap<number, LoadsBefore> {
  const { copies, sizeOf } = table
  const queues = new Map(
    servers.map((server) => {
      const sentAt = copies.sentAtOf[copies.find(row, server)]!
      return [server, { sentAt, before: 0, bytesBefore: 0 }]
    }),
  )
  const add = (queue: { before: number; bytesBefore: number }, other: number): void => {
    queue.before += 1
    queue.bytesBefore += sizeOf[other]!
  }
  const isLoading = (entry: number): boolean => (copies.flagsOf[entry]! & copyFlag.loading) !== 0
  const marks = new Uint8Array(table.rowLimit)
  marks[row] = 1
  copies.forEachPending((entry) => {
    const queue = isLoading(entry) ? queues.get(copies.serverOf[entry]!) : undefined
    if (queue === undefined) return
    const other = copies.rowOf[entry]!
    if (copies.sentAtOf[entry]! < queue.sentAt) add(queue, other)
    else if (copies.sentAtOf[entry] === queue.sentAt) marks[other] = 1
  })
  for (const other of rowsToCheck(table, marks)) {
    if (other === row) break
    // Other segments of the same interval are yielded, too.
    if (other === undefined || marks[other] !== 1) continue
    for (const [server, queue] of queues) {
      const entry = copies.find(other, server)
      if (entry >= 0 && isLoading(entry) && copies.sentAtOf[entry] === queue.sentAt) add(queue, other)
    }
  }
  return queues
}
