import { SegmentTable } from '@svc/domain/inventory'
import type { Segment } from '@svc/domain/segment'
import { type Database, followSegmentChanges, type SegmentCursor } from '@svc/shared/postgres'
import { sharedRuns } from '@svc/shared/runtime'

/** The used segments of the metadata store, kept current by reading what changed. */
export interface SegmentInventory {
  /** The table with the segments. */
  readonly table: SegmentTable
  /** Reads what changed since the last refresh. Callers during a read share the next one, which sees all earlier changes. */
  refresh(): Promise<void>
  isUsed(id: string): boolean
  /** Returns a used segment by its ID. */
  get(id: string): Segment | undefined
}

// The metadata store keeps removals for 24 hours. After half of that without a read, everything is read again.
const maxCursorAgeMs = 12 * 60 * 60 * 1000

/** Creates an inventory, which is empty until the first refresh. `nowMs` is the clock for the age of the last read. */
export function createSegmentInventory(
  database: Database,
  table = new SegmentTable(),
  nowMs = () => Date.now(),
): SegmentInventory {
  let cursor: SegmentCursor | undefined
  let readAtMs = 0

  const read = async (): Promise<void> => {
    const startedAtMs = nowMs()
    if (cursor !== undefined && startedAtMs - readAtMs > maxCursorAgeMs) {
      table.removeAll()
      cursor = undefined
    }
    try {
      cursor = await followSegmentChanges(database, cursor, {
        // Changes are read again from the point where a transaction may have been open, so most of them are known.
        used: (segment) => void table.put(segment),
        gone: (id) => table.remove(id),
      })
    } catch (error) {
      // A partial first read cannot be updated, because nothing shows which segments have gone since then.
      if (cursor === undefined) table.removeAll()
      throw error
    }
    readAtMs = startedAtMs
    table.settleTimeline()
  }
  return {
    table,
    refresh: sharedRuns(read),
    isUsed: (id) => table.isUsed(table.rowOf(id)),
    get: (id) => {
      const row = table.rowOf(id)
      return table.isUsed(row) ? table.segment(row) : undefined
    },
  }
}
