import { SegmentTable } from '@svc/domain/inventory'
import type { Segment } from '@svc/domain/segment'
import {
  type Database,
  followSegmentChanges,
  type SegmentCursor,
  type TableChanges,
} from '@svc/shared/postgres'
import { sharedRuns } from '@svc/shared/runtime'

/** The used segments of the metadata store, kept current by reading what changed. */
export interface SegmentInventory {
  /** The table with the segments. */
  readonly table: SegmentTable
  /** Reads what changed since the last refresh. Callers during a read share the next one, which sees all earlier changes. */
  refresh(): Promise<void>
  /** Refreshes if anything has changed since the last refresh, or if that was long ago. */
  refreshIfChanged(): Promise<void>
  /** Ignores a read in progress from now on, because it may hang. The next refresh does not wait for it. */
  abandonRead(): void
  isUsed(id: string): boolean
  /** Returns a used segment by its ID. */
  get(id: string): Segment | undefined
}

// The metadata store keeps removals for 24 hours. After half of that without a read, everything is read again.
const maxCursorAgeMs = 12 * 60 * 60 * 1000
// The segments are read at least this often, even without changes, so that the cursor does not expire.
const maxReadIntervalMs = maxCursorAgeMs / 2

const unknownChanges = { catchUp: async () => undefined, countOf: () => undefined }

/**
 * Creates an inventory, which is empty until the first refresh. `nowMs` is the clock for the age of the last read. Without
 * `changes`, the segments may always have changed.
 */
export function createSegmentInventory(
  database: Database,
  table = new SegmentTable(),
  nowMs = () => Date.now(),
  changes: Pick<TableChanges, 'catchUp' | 'countOf'> = unknownChanges,
): SegmentInventory {
  let cursor: SegmentCursor | undefined
  let readAtMs = 0
  /** Number of reported changes before the last read. */
  let readChanges: number | undefined

  const createRefresh = () => {
    let isAbandoned = false
    const read = async (): Promise<void> => {
      const startedAtMs = nowMs()
      const changesBefore = changes.countOf('segments')
      const since = startedAtMs - readAtMs > maxCursorAgeMs ? undefined : cursor
      let found: Set<number> | undefined
      const next = await followSegmentChanges(database, since, {
        all: () => {
          found = new Set()
        },
        // Changes are read again from the point where a transaction may have been open, so most of them are known.
        used: (segment) => {
          if (isAbandoned) return
          const row = table.put(segment)
          found?.add(row)
        },
        gone: (id) => {
          if (!isAbandoned) table.remove(id)
        },
      })
      if (isAbandoned) return
      if (found) removeOthers(table, found)
      cursor = next
      readAtMs = startedAtMs
      readChanges = changesBefore
      table.settleTimeline()
    }
    return {
      run: sharedRuns(read),
      abandon: () => {
        isAbandoned = true
      },
    }
  }
  let refresh = createRefresh()
  return {
    table,
    refresh: () => refresh.run(),
    refreshIfChanged: async () => {
      await changes.catchUp()
      const current = changes.countOf('segments')
      if (current === undefined || current !== readChanges || nowMs() - readAtMs > maxReadIntervalMs)
        await refresh.run()
    },
    abandonRead: () => {
      readChanges = undefined
      refresh.abandon()
      refresh = createRefresh()
    },
    isUsed: (id) => table.isUsed(table.rowOf(id)),
    get: (id) => {
      const row = table.rowOf(id)
      return table.isUsed(row) ? table.segment(row) : undefined
    },
  }
}

/** Removes the used segments that a complete read did not find. */
function removeOthers(table: SegmentTable, found: ReadonlySet<number>): void {
  for (let row = 0; row < table.rowLimit; row += 1)
    if (table.isUsed(row) && !found.has(row)) table.remove(table.idOf(row))
}
