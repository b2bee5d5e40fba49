import { SegmentTable } from '@svc/domain/inventory'
import type { Segment } from '@svc/domain/segment'
import { type Database, followSegmentChanges, type SegmentCursor } from '@svc/shared/postgres'

/** The used segments of the metadata store, followed by reading what changed. */
export interface SegmentInventory {
  /** Where they stand. */
  readonly table: SegmentTable
  /** Reads what changed since the last time; concurrent callers share one reading. */
  refresh(): Promise<void>
  /** Forgets everything, as a new leader must: what was erased long ago is no longer told as a change. */
  reset(): void
  isUsed(id: string): boolean
  /** A used segment by its id. */
  get(id: string): Segment | undefined
}

export function createSegmentInventory(database: Database, table = new SegmentTable()): SegmentInventory {
  let cursor: SegmentCursor | undefined
  let underWay: Promise<void> | undefined
  // Counts the resets: what a reading from before one brings is out of date.
  let resets = 0

  const read = async (): Promise<void> => {
    const readFor = resets
    const isFirst = cursor === undefined
    try {
      const next = await followSegmentChanges(database, cursor, {
        // The changes are read again from where a transaction may have been open: most of them are known.
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
      // The half of a first reading would not be brought up to date: nothing tells what has gone since.
      if (isFirst && readFor === resets) table.removeAll()
      throw error
    }
  }
  return {
    table,
    refresh: () => {
      if (!underWay) {
        const started = read().finally(() => {
          if (underWay === started) underWay = undefined
        })
        underWay = started
      }
      return underWay
    },
    reset: () => {
      table.removeAll()
      cursor = undefined
      underWay = undefined
      resets += 1
    },
    isUsed: (id) => table.isUsed(table.rowOf(id)),
    get: (id) => {
      const row = table.rowOf(id)
      return table.isUsed(row) ? table.segment(row) : undefined
    },
  }
}
