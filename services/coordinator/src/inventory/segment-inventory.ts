import { SegmentTable } from '@svc/domain/inventory'
import type { Segment } from '@svc/domain/segment'
import { type Database, followSegmentChanges, type SegmentCursor } from '@svc/shared/postgres'

/** The used segments of the metadata store, kept current by reading what changed. */
export interface SegmentInventory {
  /** The table with the segments. */
  readonly table: SegmentTable
  /** Reads what changed since the last refresh. Concurrent callers share one read. */
  refresh(): Promise<void>
  /** Forgets everything. A new leader must do this, because the store does not keep old deletions as changes. */
  reset(): void
  isUsed(id: string): boolean
  /** Returns a used segment by its ID. */
  get(id: string): Segment | undefined
}

export function createSegmentInventory(database: Database, table = new SegmentTable()): SegmentInventory {
  let cursor: SegmentCursor | undefined
  let inProgress: Promise<void> | undefined
  // Number of resets. The results of a read that started before a reset are stale.
  let resets = 0

  const read = async (): Promise<void> => {
    const readFor = resets
    const isFirst = cursor === undefined
    try {
      const next = await followSegmentChanges(database, cursor, {
        // Changes are read again from the point where a transaction may have been open, so most of them are known.
        used: (segment) => {
          if (readFor === resets) table.put(segment)
        },
        gone: (id) => {
          if (readFor === resets) table.remove(id)
        },
      })
      if (readFor !== resets) return
      table.settleTimeline()
      cursor = next
    } catch (error) {
      // A partial first read cannot be updated, because nothing shows which segments have gone since then.
      if (isFirst && readFor === resets) table.removeAll()
      throw error
    }
  }
  return {
    table,
    refresh: () => {
      if (!inProgress) {
        const started = read().finally(() => {
          if (inProgress === started) inProgress = undefined
        })
        inProgress = started
      }
      return inProgress
    },
    reset: () => {
      table.removeAll()
      cursor = undefined
      inProgress = undefined
      resets += 1
    },
    isUsed: (id) => table.isUsed(table.rowOf(id)),
    get: (id) => {
      const row = table.rowOf(id)
      return table.isUsed(row) ? table.segment(row) : undefined
    },
  }
}
