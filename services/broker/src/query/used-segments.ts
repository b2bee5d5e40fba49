import { unavailable } from '@svc/domain/failure'
import { ascending } from '@svc/domain/order'
import type { FormerSegment } from '@svc/domain/querying'
import type { SegmentColumn } from '@svc/domain/segment'
import {
  type Database,
  loadSegmentChanges,
  loadSegmentSchemas,
  type SegmentChanges,
  type SegmentCursor,
  type StoredSegment,
} from '@svc/shared/postgres'
import { keepNewest } from '@svc/shared/runtime'

/** A segment with the fields that queries need. */
export type QueriedSegment = Omit<StoredSegment, 'used' | 'compactionState'>

/** The used segments of queried datasources, kept up to date by reading only changes. */
export interface UsedSegments {
  /** Reads what changed. Returns whether anything changed; the first read counts as a change. */
  refresh(dataSource: string): Promise<boolean>
  isKnown(dataSource: string): boolean
  of(dataSource: string): readonly QueriedSegment[]
  has(dataSource: string, segmentId: string): boolean
  /** Segments that became unused after the first `refresh` or the last `forgetRetired` of the datasource. */
  retired(dataSource: string): readonly FormerSegment[]
  /** Returns the lists of columns with the given schema ids. */
  schemasOf(ids: readonly number[]): Promise<(readonly SegmentColumn[])[]>
  forgetRetired(dataSource: string): void
}

interface Followed {
  readonly segments: Map<string, QueriedSegment>
  list: readonly QueriedSegment[] | undefined
  retired: FormerSegment[]
  cursor: SegmentCursor | undefined
}

// The most recently queried datasources stay in memory.
const maxFollowedDatasources = 50

function byStart({ interval: a }: QueriedSegment, { interval: b }: QueriedSegment): number {
  return ascending(a.start, b.start)
}

export function createUsedSegments(database: Database): UsedSegments {
  const followed = new Map<string, Followed>()
  // There are few schemas: one per task.
  const schemas = new Map<number, readonly SegmentColumn[]>()
  const inProgress = new Map<string, Promise<boolean>>()

  async function read(dataSource: string): Promise<boolean> {
    const known = followed.get(dataSource)
    const changes = await loadSegmentChanges(database, known?.cursor, [dataSource])
    const entry: Followed = known ?? { segments: new Map(), list: undefined, retired: [], cursor: undefined }
    const differs = applyChanges(entry, changes) || known === undefined
    if (differs) entry.list = undefined
    // Do not keep names without segments: callers can query any name.
    followed.delete(dataSource)
    if (entry.segments.size > 0 || entry.retired.length > 0)
      keepNewest(followed, dataSource, entry, maxFollowedDatasources)
    return differs
  }

  return {
    refresh: (dataSource) => {
      // Two concurrent reads would mix up their changes.
      const last = inProgress.get(dataSource) ?? Promise.resolve(false)
      const current = last.catch(() => false).then(() => read(dataSource))
      inProgress.set(dataSource, current)
      const forget = (): void => {
        if (inProgress.get(dataSource) === current) inProgress.delete(dataSource)
      }
      current.then(forget, forget)
      return current
    },
    isKnown: (dataSource) => followed.has(dataSource),
    of: (dataSource) => {
      const entry = followed.get(dataSource)
      if (!entry) return []
      // Queries are planned in parts, in time order.
      entry.list ??= [...entry.segments.values()].sort(byStart)
      return entry.list
    },
    has: (dataSource, segmentId) => followed.get(dataSource)?.segments.has(segmentId) ?? false,
    schemasOf: async (ids) => {
      const unknown = ids.filter((id) => !schemas.has(id))
      for (const [id, columns] of await loadSegmentSchemas(database, unknown)) schemas.set(id, columns)
      return ids.map((id) => {
        const columns = schemas.get(id)
        if (columns === undefined)
          throw unavailable(`Segment schema [${id}] is missing from the metadata store`)
        return columns
      })
    },
    retired: (dataSource) => followed.get(dataSource)?.retired ?? [],
    forgetRetired: (dataSource) => {
      const entry = followed.get(dataSource)
      if (entry) entry.retired = []
    },
  }
}

/** Updates the segments of a datasource. Returns whether any of them differs. */
function applyChanges(entry: Followed, { isAll, changed, removed, next }: SegmentChanges): boolean {
  let differs = false
  const retire = (id: string): void => {
    const segment = entry.segments.get(id)
    if (!segment) return
    entry.segments.delete(id)
    entry.retired.push({ interval: segment.interval, version: segment.version })
    differs = true
  }
  for (const { used, compactionState: _, ...segment } of changed) {
    if (!used) retire(segment.id)
    else if (!entry.segments.has(segment.id)) {
      entry.segments.set(segment.id, segment)
      differs = true
    }
  }
  for (const id of removed) retire(id)
  if (isAll) {
    const present = new Set(changed.map(({ id }) => id))
    for (const id of [...entry.segments.keys()]) if (!present.has(id)) retire(id)
  }
  entry.cursor = next
  return differs
}
