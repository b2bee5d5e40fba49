import { copyFlag, type SegmentTable } from '../inventory/index.ts'
import { checkedBefore } from '../retention/index.ts'

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
  const { flagsOf, rowOf, sentAtOf, serverOf } = copies
  const queues = new Map(
    servers.map((server) => [
      server,
      { sentAt: sentAtOf[copies.find(row, server)]!, before: 0, bytesBefore: 0 },
    ]),
  )
  const isBefore = checkedBefore(table)
  copies.forEachPending((entry) => {
    const queue = queues.get(serverOf[entry]!)
    if (queue === undefined || (flagsOf[entry]! & copyFlag.loading) === 0) return
    const [other, sentAt] = [rowOf[entry]!, sentAtOf[entry]!]
    if (sentAt > queue.sentAt || (sentAt === queue.sentAt && !isBefore(other, row))) return
    queue.before += 1
    queue.bytesBefore += sizeOf[other]!
  })
  return queues
}
