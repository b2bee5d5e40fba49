import type { NewSegment } from '@svc/domain/inventory'
import { contains, overlaps } from '@svc/domain/time'
import type * as real from '@svc/shared/postgres'
import { statement } from './database.ts'
import type { StoreView } from './store.ts'
import type { SegmentEntry } from './tables.ts'

const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : 1)
const segmentsOf = (view: StoreView): SegmentEntry[] => view.rows(view.tables.segments)

function storedSegment(entry: SegmentEntry): real.StoredSegment {
  const {
    payload: _,
    createdAt: __,
    usedChangedAt: ___,
    taskId: ____,
    cause: _____,
    changedIn: ______,
    ...segment
  } = entry
  return segment
}

/** Returns the rows that changed since a cursor, or all used ones, and the IDs of removed segments. */
function changesSince(view: StoreView, cursor: real.SegmentCursor | undefined) {
  const since = cursor === undefined ? undefined : Number(cursor)
  return {
    next: String(view.oldestNumber()),
    rows: segmentsOf(view)
      .filter(({ used, changedIn }) => (since === undefined ? used : changedIn >= since))
      .sort(byId),
    removed:
      since === undefined
        ? []
        : view
            .rows(view.tables.removals)
            .filter(({ changedIn }) => changedIn >= since)
            .map(({ id }) => id),
  }
}

export const loadSegmentChanges: typeof real.loadSegmentChanges = (database, cursor, dataSources) =>
  database.transaction((transaction) =>
    statement(transaction, (view) => {
      const { next, rows, removed } = changesSince(view, cursor)
      const changed = rows
        .filter(({ dataSource }) => dataSources?.includes(dataSource) ?? true)
        .map(storedSegment)
      const present = new Set(changed.map(({ id }) => id))
      return {
        isAll: cursor === undefined,
        changed,
        removed: removed.filter((id) => !present.has(id)),
        next,
      }
    }),
  )

const newSegment = ({
  interval,
  id,
  dataSource,
  version,
  partitionNum,
  partitions,
  sizeBytes,
  totalRows,
}: SegmentEntry): NewSegment => ({
  id,
  dataSource,
  start: interval.start,
  end: interval.end,
  version,
  partitionNum,
  partitions,
  sizeBytes,
  totalRows,
})

export const followSegmentChanges: typeof real.followSegmentChanges = (database, cursor, follower) =>
  database.transaction(async (transaction) => {
    const { next, rows, removed } = await statement(transaction, (view) => changesSince(view, cursor))
    if (cursor === undefined) follower.all?.()
    const gone = new Set(removed)
    // Rows arrive in several parts.
    const half = Math.ceil(rows.length / 2)
    for (const part of [rows.slice(0, half), rows.slice(half)]) {
      for (const row of part) {
        gone.delete(row.id)
        if (row.used) follower.used(newSegment(row))
        else follower.gone(row.id)
      }
      if (part.length > 0) await statement(transaction, () => undefined)
    }
    for (const id of gone) follower.gone(id)
    return next
  })

export const loadUsedSegmentSizes: typeof real.loadUsedSegmentSizes = (queries, ids) =>
  statement(queries, (view) => {
    const found = ids.flatMap((id) => view.get(view.tables.segments, id) ?? [])
    return new Map(found.filter(({ used }) => used).map(({ id, sizeBytes }) => [id, sizeBytes]))
  })

export const loadPayloads: typeof real.loadPayloads = async (queries, ids) => {
  if (ids.length === 0) return new Map()
  return await statement(queries, (view) => {
    const found = ids.flatMap((id) => view.get(view.tables.segments, id) ?? [])
    return new Map(found.map(({ id, payload }) => [id, payload]))
  })
}

export const loadPayloadTexts: typeof real.loadPayloadTexts = async (queries, ids) =>
  new Map([...(await loadPayloads(queries, ids))].map(([id, payload]) => [id, JSON.stringify(payload)]))

export const loadOverlapping: typeof real.loadOverlapping = (queries, dataSource, interval) =>
  statement(queries, (view) =>
    segmentsOf(view)
      .filter((segment) => segment.dataSource === dataSource && overlaps(segment.interval, interval))
      .map(storedSegment),
  )

export const loadPartitionFloors: typeof real.loadPartitionFloors = (queries, dataSource, interval) =>
  statement(queries, (view) =>
    view
      .rows(view.tables.floors)
      .filter((floor) => floor.dataSource === dataSource && overlaps(floor.interval, interval))
      .map(({ dataSource: _, ...floor }) => floor),
  )

export const lockDatasource: typeof real.lockDatasource = (transaction, dataSource) =>
  statement(transaction, (view) => view.lock(`datasource ${dataSource}`))

export const copySegments: typeof real.copySegments = async (transaction, segments, taskId, now) => {
  const inserted = await Array.fromAsync(segments)
  await statement(transaction, (view) => {
    for (const { segment, payload, compactionState = null, schemaId = null } of inserted) {
      if (view.claim(view.tables.segments, segment.id) !== undefined)
        throw Object.assign(new Error('duplicate key value'), { code: '23505' })
      view.put(view.tables.segments, segment.id, {
        ...segment,
        used: true,
        payload: JSON.parse(JSON.stringify(payload)),
        compactionState,
        schemaId,
        createdAt: now,
        usedChangedAt: now,
        taskId: taskId ?? null,
        cause: null,
        changedIn: view.number,
      })
    }
  })
}

export const forgetOldRemovals: typeof real.forgetOldRemovals = (queries, keptMs) =>
  statement(queries, (view) =>
    view.removeWhere(view.tables.removals, ({ removedAt }) => removedAt < view.startedAt - keptMs),
  )

/** Returns the segments of a query in ID order. */
function find(view: StoreView, query: real.SegmentQuery): SegmentEntry[] {
  const { dataSource, used, ids, within, versions, unchangedSince, after, limit, order } = query
  const found = segmentsOf(view)
    .filter(
      (segment) =>
        (dataSource === undefined || segment.dataSource === dataSource) &&
        (used === undefined || segment.used === used) &&
        (ids === undefined || ids.includes(segment.id)) &&
        (versions === undefined || versions.includes(segment.version)) &&
        (unchangedSince === undefined || segment.usedChangedAt <= unchangedSince) &&
        (after === undefined || (order === 'DESC' ? segment.id < after : segment.id > after)) &&
        (within === undefined || contains(within, segment.interval)),
    )
    .sort(byId)
  return (order === 'DESC' ? found.reverse() : found).slice(0, limit)
}

export const loadSegmentRecords: typeof real.loadSegmentRecords = (queries, query) =>
  statement(queries, (view) =>
    find(view, query).map(({ payload, used, createdAt, usedChangedAt }) => ({
      payload,
      used,
      createdAt,
      usedChangedAt,
    })),
  )

export const loadStoredSegments: typeof real.loadStoredSegments = (queries, query) =>
  statement(queries, (view) => find(view, { ...query, order: 'ASC' }).map(storedSegment))

export const loadDatasourceNames: typeof real.loadDatasourceNames = (queries, includeUnused) =>
  statement(queries, (view) => {
    const shown = segmentsOf(view).filter(({ used }) => used || includeUnused)
    return [...new Set(shown.map(({ dataSource }) => dataSource))].sort()
  })

export const markUnused: typeof real.markUnused = (transaction, ids, cause, now) =>
  statement(transaction, (view) => {
    const { segments } = view.tables
    let marked = 0
    for (const [index, id] of ids.entries()) {
      if (view.get(segments, id)?.used !== true) continue
      const segment = view.claim(segments, id)
      if (segment?.used !== true) continue
      const own = Array.isArray(cause) ? cause[index] : cause
      view.put(segments, id, {
        ...segment,
        used: false,
        usedChangedAt: now,
        cause: own,
        changedIn: view.number,
      })
      marked += 1
    }
    return marked
  })

export const markUsed: typeof real.markUsed = (transaction, ids, now) =>
  statement(transaction, (view) => {
    const { segments } = view.tables
    let marked = 0
    for (const id of ids) {
      if (view.get(segments, id)?.used !== false) continue
      const segment = view.claim(segments, id)
      if (segment?.used !== false) continue
      view.put(segments, id, {
        ...segment,
        used: true,
        usedChangedAt: now,
        cause: null,
        changedIn: view.number,
      })
      marked += 1
    }
    return marked
  })

export const eraseUnused: typeof real.eraseUnused = (transaction, ids) =>
  statement(transaction, (view) => {
    const { segments, removals, floors } = view.tables
    return ids.flatMap((id) => {
      if (view.get(segments, id)?.used !== false) return []
      const segment = view.claim(segments, id)
      if (segment?.used !== false) return []
      const { dataSource, interval, version, partitionNum } = segment
      view.remove(segments, id)
      view.put(removals, String(view.nextId()), { id, changedIn: view.number, removedAt: view.startedAt })
      const key = `${dataSource} ${interval.start} ${interval.end} ${version}`
      const floor = view.claim(floors, key)
      const highest = Math.max(partitionNum, floor?.partitionNum ?? 0)
      view.put(floors, key, { dataSource, interval, version, partitionNum: highest })
      return segment.payload
    })
  })

export const saveSegmentSchemas: typeof real.saveSegmentSchemas = (transaction, lists) =>
  statement(transaction, (view) => {
    const { schemas } = view.tables
    return lists.map((list) => {
      const columns = list.map(({ name, type }) => ({ name, type }))
      const key = JSON.stringify(columns)
      const known = view.get(schemas, key) ?? view.claim(schemas, key)
      if (known !== undefined) return known.id
      const id = view.nextId()
      view.put(schemas, key, { id, columns })
      return id
    })
  })

export const loadSegmentSchemas: typeof real.loadSegmentSchemas = async (queries, ids) => {
  if (ids.length === 0) return new Map()
  return await statement(queries, (view) => {
    const found = view.rows(view.tables.schemas).filter(({ id }) => ids.includes(id))
    return new Map(found.map(({ id, columns }) => [id, columns]))
  })
}
