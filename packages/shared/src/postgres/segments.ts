import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import type { NewSegment } from '@svc/domain/inventory'
import type { PartitionFloor } from '@svc/domain/publishing'
import type { Segment, SegmentPayload } from '@svc/domain/segment'
import type { Interval } from '@svc/domain/time'
import { from as copyFrom } from 'pg-copy-streams'
import { join, type Sql } from 'sql-template-tag'
import { withExactLimits } from '../wire/index.ts'
import { copyOut } from './copy-out.ts'
import { type Database, type Queries, sql, storeFailure, type Transaction } from './database.ts'
import { isWithin, overlappingSegments } from './overlapping-segments.ts'
import { readSegment, type SegmentRow, type StoredSegment, segmentColumns } from './segment-rows.ts'
import { readTime, storedTime } from './stored-time.ts'
import { textArray } from './text-array.ts'

/** The changes since a reader's last read, and the cursor of its next read. */
export interface SegmentChanges {
  /** Whether these are all used segments: those that are not among them are gone. */
  readonly isAll: boolean
  readonly changed: readonly StoredSegment[]
  readonly removed: readonly string[]
  readonly next: SegmentCursor
}

/** Receives changes. */
export interface SegmentFollower {
  /** All used segments follow, and not only changes: those that are not among them are gone. */
  all?(): void
  /** The segment is used. */
  used(segment: NewSegment): void
  /** The segment is unused or was deleted. */
  gone(id: string): void
}

/** The oldest transaction that may have been in progress at a reader's last read. */
export type SegmentCursor = string

// A Postgres that takes over from another one may not have its last transactions, and uses their numbers again. It has a new timeline,
// with which the names of its WAL files begin.
const timeline = sql`left(pg_walfile_name(pg_current_wal_lsn()), 8)`

/**
 * Returns the segments that changed since `cursor`, or all used ones without it and after another Postgres has taken over;
 * with `dataSources`, only those of these datasources. Removals always cover all datasources. Transactions that were in
 * progress at the last read are read again, so none is missed in whatever order they end; reading a row twice is harmless.
 */
export async function loadSegmentChanges(
  database: Database,
  cursor?: SegmentCursor,
  dataSources?: readonly string[],
): Promise<SegmentChanges> {
  const unchanged = await cursorIfUnchanged(database, cursor)
  if (unchanged !== undefined) return { isAll: false, changed: [], removed: [], next: unchanged }
  return await database.transaction(async (transaction) => {
    const { since, next } = await beginReading(transaction, cursor)
    const where = since === undefined ? sql`used` : sql`changed_in >= ${since}::xid8`
    const rows = await transaction.query<SegmentRow>(
      sql`SELECT ${segmentColumns} FROM segments
        WHERE ${where} AND (${dataSources ?? null}::text[] IS NULL OR datasource = ANY(${dataSources ?? null}::text[]))`,
    )
    const removals = await removedSince(transaction, since)
    const changed = rows.map(readSegment)
    const present = new Set(changed.map(({ id }) => id))
    return {
      isAll: since === undefined,
      changed,
      removed: removals.filter((id) => !present.has(id)),
      next,
    }
  })
}

/**
 * Returns the next cursor if no segment changed since `cursor`; otherwise undefined. Usually nothing has changed, and this takes one
 * request instead of six.
 */
async function cursorIfUnchanged(
  database: Database,
  cursor: SegmentCursor | undefined,
): Promise<SegmentCursor | undefined> {
  if (cursor === undefined) return undefined
  // Not EXISTS, for which Postgres would read the entire table: it expects to find a row soon.
  const newest = (table: Sql) =>
    sql`coalesce((SELECT changed_in FROM ${table} ORDER BY changed_in DESC LIMIT 1), '0'::xid8)`
  const [row] = await database.query<ReadingState & { newest: string }>(sql`
    SELECT ${readingState}, greatest(${newest(sql`segments`)}, ${newest(sql`segment_removals`)})::text AS newest`)
  const { since, next } = cursorsOf(row!, cursor)
  return since !== undefined && BigInt(row!.newest) < BigInt(since) ? next : undefined
}

/** What cursors consist of. */
interface ReadingState {
  readonly current: string
  readonly oldest: string
}

const readingState = sql`${timeline} AS current, pg_snapshot_xmin(pg_current_snapshot())::text AS oldest`

/** Returns the transaction from which changes must be read (none if everything must be read), and the next cursor. */
function cursorsOf({ current, oldest }: ReadingState, cursor: SegmentCursor | undefined) {
  const [known, since] = cursor?.split('/') ?? []
  const isKnown = since !== undefined && known === current && BigInt(since) <= BigInt(oldest)
  return { since: isKnown ? since : undefined, next: `${current}/${oldest}` }
}

/**
 * Makes a transaction see one state. Returns the transaction from which changes must be read after a cursor, and the next
 * cursor. It returns no transaction if everything must be read: without a cursor, and after another Postgres has taken over.
 */
async function beginReading(
  transaction: Transaction,
  cursor: SegmentCursor | undefined,
): Promise<{ since: string | undefined; next: SegmentCursor }> {
  await transaction.query(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`)
  // The setting is for this transaction: Postgres has sent everything before the last rows are read here, which takes long on a
  // busy machine.
  const [row] = await transaction.query<ReadingState>(sql`
    SELECT ${readingState}, set_config('idle_in_transaction_session_timeout', '1min', true)`)
  return cursorsOf(row!, cursor)
}

async function removedSince(transaction: Transaction, since: string | undefined): Promise<string[]> {
  if (since === undefined) return []
  const rows = await transaction.query<{ id: string }>(
    sql`SELECT id FROM segment_removals WHERE changed_in >= ${since}::xid8`,
  )
  return rows.map(({ id }) => id)
}

// Max time to read segments without a pause.
const maxReadMs = 10

/**
 * Streams the segments that changed since `cursor` to `follower` without buffering them; without a cursor, or after
 * another Postgres has taken over, all used ones. Transactions that were in progress at the last read are read again, so
 * none is missed in whatever order they end; reading a row twice is harmless. Returns the cursor of the next read.
 */
export async function followSegmentChanges(
  database: Database,
  cursor: SegmentCursor | undefined,
  follower: SegmentFollower,
): Promise<SegmentCursor> {
  const unchanged = await cursorIfUnchanged(database, cursor)
  if (unchanged !== undefined) return unchanged
  return await database.transaction(async (transaction) => {
    const { since, next } = await beginReading(transaction, cursor)
    if (since === undefined) follower.all?.()
    const removed = new Set(await removedSince(transaction, since))
    // COPY has no parameters. A cursor was returned by Postgres itself, and BigInt ensures that it is a number.
    const where = since === undefined ? 'used' : `changed_in >= '${BigInt(since)}'::xid8`
    const statement = `COPY (SELECT id, datasource, start_ms, end_ms, version, partition_num, partitions, size_bytes,
      total_rows, used FROM segments WHERE ${where}) TO STDOUT`
    const take = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
      const shared = createTextPool()
      let pausedAt = performance.now()
      for await (const lines of linesOf(chunks)) {
        // Rows may arrive without a break, so pause to let other requests run.
        if (performance.now() - pausedAt > maxReadMs) {
          await setImmediate()
          pausedAt = performance.now()
        }
        for (const line of lines) {
          const escaped = line.split('\t')
          const fields = line.includes('\\') ? escaped.map(readCopyText) : escaped
          const id = fields[0] as string
          removed.delete(id)
          if (fields[9] === 't') follower.used(readNewSegment(fields, shared))
          else follower.gone(id)
        }
      }
    }
    await copyOut(transaction, statement, (rows) => pipeline(rows, take)).catch((error) => {
      throw storeFailure(error)
    })
    for (const id of removed) follower.gone(id)
    return next
  })
}

/**
 * Returns a function that deduplicates equal texts. It copies them, because a substring of a line would keep the entire
 * chunk in memory.
 */
function createTextPool(): (text: string) => string {
  const texts = new Map<string, string>()
  return (text) => {
    let found = texts.get(text)
    if (found === undefined) {
      found = Buffer.from(text).toString()
      texts.set(found, found)
    }
    return found
  }
}

function readNewSegment(fields: readonly string[], shared: (text: string) => string): NewSegment {
  const [id, dataSource, startMs, endMs, version, partitionNum, partitions, sizeBytes, totalRows] =
    fields as [string, string, string, string, string, string, string, string, string]
  return {
    id,
    dataSource: shared(dataSource),
    start: readTime(startMs),
    end: readTime(endMs),
    version: shared(version),
    partitionNum: Number(partitionNum),
    partitions: Number(partitions),
    sizeBytes: Number(sizeBytes),
    totalRows: Number(totalRows),
  }
}

/** Yields the lines of a text stream, without line breaks, as they arrive. */
async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const end = bytes.lastIndexOf(0x0a)
    rest = bytes.subarray(end + 1)
    if (end >= 0) yield bytes.toString('utf8', 0, end).split('\n')
  }
}

const copyEscapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v' }

const readCopyText = (text: string): string =>
  text.replace(/\\(.)/gs, (_, character: string) => copyEscapes[character] ?? character)

/** Returns the sizes in bytes of used segments by ID; others are left out. */
export async function loadUsedSegmentSizes(
  queries: Queries,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await queries.query<{ id: string; sizeBytes: number }>(
    sql`SELECT id, size_bytes AS "sizeBytes" FROM segments WHERE used AND id = ANY(${ids})`,
  )
  return new Map(rows.map(({ id, sizeBytes }) => [id, sizeBytes]))
}

/** Returns the number of used segments by datasource. */
export async function countUsedSegments(queries: Queries): Promise<ReadonlyMap<string, number>> {
  const rows = await queries.query<{ dataSource: string; count: number }>(
    sql`SELECT datasource AS "dataSource", count(*)::int AS count FROM segments WHERE used GROUP BY datasource`,
  )
  return new Map(rows.map(({ dataSource, count }) => [dataSource, count]))
}

/** Returns the payloads of segments by ID; unknown IDs are left out. */
export async function loadPayloads(
  queries: Queries,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SegmentPayload>> {
  if (ids.length === 0) return new Map()
  const rows = await queries.query<{ id: string; payload: SegmentPayload }>(
    sql`SELECT id, payload FROM segments WHERE id = ANY(${ids})`,
  )
  return new Map(rows.map(({ id, payload }) => [id, payload]))
}

/** Returns the payloads of segments as the stored JSON text, by ID; unknown IDs are left out. */
export async function loadPayloadTexts(
  queries: Queries,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await queries.query<{ id: string; text: string }>(
    sql`SELECT id, payload::text AS text FROM segments WHERE id = ANY(${textArray(ids)}::text[])`,
  )
  return new Map(rows.map(({ id, text }) => [id, text]))
}

/** A used segment with its payload as the stored JSON text. */
export interface SegmentText {
  readonly id: string
  readonly totalRows: number
  readonly text: string
}

// Segments per page: few queries, and little memory per page.
const segmentsOfPage = 2000

/** Yields the used segments of a datasource in ID order, page by page; each page is a separate query. */
export async function* pagesOfUsedSegments(
  queries: Queries,
  dataSource: string,
): AsyncGenerator<readonly SegmentText[]> {
  // IDs start with the datasource and an underscore, so all of them are between these two texts, and each page is an
  // index range scan that continues from the last one.
  const beyond = `${dataSource}\``
  let after = `${dataSource}_`
  for (;;) {
    const rows = await queries.query<SegmentText>(sql`
      SELECT id, total_rows AS "totalRows", payload::text AS text FROM segments
      WHERE used AND datasource = ${dataSource} AND id > ${after} AND id < ${beyond}
      ORDER BY id LIMIT ${segmentsOfPage}`)
    if (rows.length > 0) yield rows
    if (rows.length < segmentsOfPage) return
    after = (rows.at(-1) as SegmentText).id
  }
}

/** Returns the segments of one datasource that overlap an interval, used or not. */
export async function loadOverlapping(
  queries: Queries,
  dataSource: string,
  interval: Interval,
): Promise<StoredSegment[]> {
  const rows = await queries.query<SegmentRow>(sql`
    SELECT ${segmentColumns} FROM ${overlappingSegments(dataSource, interval)}`)
  return rows.map(readSegment)
}

/** Returns the highest partition numbers of deleted segments in intervals that overlap an interval. */
export async function loadPartitionFloors(
  queries: Queries,
  dataSource: string,
  interval: Interval,
): Promise<PartitionFloor[]> {
  const rows = await queries.query<{
    startMs: string
    endMs: string
    version: string
    partitionNum: number
  }>(sql`
    SELECT start_ms::text AS "startMs", end_ms::text AS "endMs", version, partition_num AS "partitionNum"
    FROM partition_floors
    WHERE datasource = ${dataSource} AND start_ms < ${storedTime(interval.end)} AND end_ms > ${storedTime(interval.start)}`)
  return rows.map(({ startMs, endMs, version, partitionNum }) => ({
    interval: { start: readTime(startMs), end: readTime(endMs) },
    version,
    partitionNum,
  }))
}

/** Ensures that one transaction at a time allocates versions and partition numbers of a datasource. */
export async function lockDatasource(transaction: Queries, dataSource: string): Promise<void> {
  await transaction.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${dataSource}, 1))`)
}

const escapeCopyText = (text: string): string =>
  text.replace(
    /[\\\n\r\t]/g,
    (character) => ({ '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' })[character] as string,
  )

/**
 * A segment to insert, with the IDs of its compaction state (saveCompactionState) and of its columns
 * (saveSegmentSchemas).
 */
export interface InsertedSegment {
  readonly segment: Segment
  readonly payload: SegmentPayload
  readonly compactionState?: number
  readonly schemaId?: number | undefined
}

// Characters per chunk: passing line by line would cost more than formatting the lines.
const copyChunkLength = 65_536

/** Inserts used segments with COPY; `now` is the cluster time. Fails if a segment already exists. */
export async function copySegments(
  transaction: Transaction,
  segments: Iterable<InsertedSegment> | AsyncIterable<InsertedSegment>,
  taskId: string | undefined,
  now: number,
): Promise<void> {
  const time = new Date(now).toISOString()
  const target = transaction.client.query(
    copyFrom(`COPY segments (id, datasource, start_ms, end_ms, version, partition_num, partitions, size_bytes,
      total_rows, used, created_at, used_changed_at, task_id, payload, compaction_state, schema_id) FROM STDIN`),
  )
  async function* lines() {
    let text = ''
    for await (const { segment, payload, compactionState, schemaId } of segments) {
      const { id, dataSource, interval, version, partitionNum, partitions, sizeBytes, totalRows } = segment
      const fields = [
        escapeCopyText(id),
        escapeCopyText(dataSource),
        storedTime(interval.start),
        storedTime(interval.end),
        escapeCopyText(version),
        partitionNum,
        partitions,
        sizeBytes,
        totalRows,
        't',
        time,
        time,
        taskId === undefined ? '\\N' : escapeCopyText(taskId),
        escapeCopyText(withExactLimits(JSON.stringify(payload))),
        compactionState ?? '\\N',
        schemaId ?? '\\N',
      ]
      text += `${fields.join('\t')}\n`
      if (text.length < copyChunkLength) continue
      yield text
      text = ''
    }
    if (text !== '') yield text
  }
  await pipeline(lines, target).catch((error) => {
    throw storeFailure(error)
  })
}

// Segments per transaction: Postgres cancels statements that take very long.
const segmentsAtOnce = 100_000

/** Inserts any number of used segments in several transactions, and reports how many are written so far. */
export async function copyManySegments(
  database: Database,
  segments: Iterable<InsertedSegment> | AsyncIterable<InsertedSegment>,
  now: number,
  onProgress: (written: number) => void = () => undefined,
): Promise<void> {
  const all =
    Symbol.asyncIterator in segments ? segments[Symbol.asyncIterator]() : segments[Symbol.iterator]()
  let written = 0
  let isOver = false
  async function* next(): AsyncGenerator<InsertedSegment> {
    for (let count = 0; count < segmentsAtOnce; count++) {
      const { value, done } = await all.next()
      if (done) {
        isOver = true
        return
      }
      written += 1
      yield value
    }
  }
  try {
    while (!isOver) {
      await database.transaction((transaction) => copySegments(transaction, next(), undefined, now))
      onProgress(written)
    }
  } finally {
    await all.return?.()
  }
  // Without statistics, Postgres would scan all rows to find a few.
  await database.query(sql`ANALYZE segments`)
}

/** Deletes the records of segments that were deleted more than `keptMs` ago. */
export async function forgetOldRemovals(queries: Queries, keptMs: number): Promise<void> {
  await queries.query(
    sql`DELETE FROM segment_removals WHERE removed_at < now() - ${keptMs}::float8 * interval '1 millisecond'`,
  )
}

/** A full row of the segment table; times in epoch milliseconds. */
export interface SegmentRecord {
  readonly payload: SegmentPayload
  readonly used: boolean
  readonly createdAt: number
  readonly usedChangedAt: number
}

/** Which segments to read. */
export interface SegmentQuery {
  readonly dataSource?: string | undefined
  readonly used?: boolean | undefined
  readonly ids?: readonly string[] | undefined
  /** Only segments entirely within this interval. */
  readonly within?: Interval | undefined
  readonly versions?: readonly string[] | undefined
  /** Only segments whose `used` flag has not changed after this time, in epoch milliseconds. */
  readonly unchangedSince?: number | undefined
  /** Only IDs after this one. */
  readonly after?: string | undefined
  readonly limit?: number | undefined
  readonly order?: 'ASC' | 'DESC' | undefined
}

/** Returns segments in ID order. */
export async function loadSegmentRecords(queries: Queries, query: SegmentQuery): Promise<SegmentRecord[]> {
  const order = query.order === 'DESC' ? sql`ORDER BY id DESC` : sql`ORDER BY id`
  return await queries.query<SegmentRecord>(sql`
    SELECT payload, used, created_at AS "createdAt", used_changed_at AS "usedChangedAt"
    FROM segments WHERE ${conditionOf(query)} ${order} LIMIT ${query.limit ?? null}`)
}

/** Returns segments in ID order, without payloads. */
export async function loadStoredSegments(queries: Queries, query: SegmentQuery): Promise<StoredSegment[]> {
  const rows = await queries.query<SegmentRow>(sql`
    SELECT ${segmentColumns} FROM segments WHERE ${conditionOf(query)} ORDER BY id LIMIT ${query.limit ?? null}`)
  return rows.map(readSegment)
}

function conditionOf(query: SegmentQuery) {
  const { dataSource, used, ids, within, versions, unchangedSince, after, order } = query
  const conditions = [sql`true`]
  if (dataSource !== undefined) conditions.push(sql`datasource = ${dataSource}`)
  if (used !== undefined) conditions.push(sql`used = ${used}`)
  if (ids !== undefined) conditions.push(sql`id = ANY(${textArray(ids)}::text[])`)
  if (versions !== undefined) conditions.push(sql`version = ANY(${textArray(versions)}::text[])`)
  if (unchangedSince !== undefined)
    conditions.push(sql`used_changed_at <= to_timestamp(${unchangedSince / 1000})`)
  if (after !== undefined) conditions.push(order === 'DESC' ? sql`id < ${after}` : sql`id > ${after}`)
  if (within !== undefined) conditions.push(isWithin(within))
  return join(conditions, ' AND ')
}

/** Returns the datasources that have used segments, or any segments. */
export async function loadDatasourceNames(queries: Queries, includeUnused: boolean): Promise<string[]> {
  const where = includeUnused ? sql`true` : sql`used`
  const rows = await queries.query<{ datasource: string }>(
    sql`SELECT DISTINCT datasource FROM segments WHERE ${where} ORDER BY datasource`,
  )
  return rows.map(({ datasource }) => datasource)
}

/** The interval that encloses killable unused segments of a datasource. */
export interface KillableInterval {
  readonly dataSource: string
  readonly interval: Interval
}

/**
 * Returns, for each datasource, the interval that encloses its oldest `limit` unused segments that end at or before
 * `before` and became unused at or before `unusedUntil`, both in epoch milliseconds.
 */
export async function loadKillableIntervals(
  queries: Queries,
  { before, unusedUntil, limit }: { before: number; unusedUntil: number; limit: number },
): Promise<KillableInterval[]> {
  const rows = await queries.query<{ dataSource: string; startMs: string; endMs: string }>(sql`
    SELECT datasource AS "dataSource", min(start_ms)::text AS "startMs", max(end_ms)::text AS "endMs"
    FROM (
      SELECT datasource, start_ms, end_ms,
        row_number() OVER (PARTITION BY datasource ORDER BY start_ms, end_ms, id) AS number
      FROM segments
      WHERE NOT used AND end_ms <= ${storedTime(before)} AND used_changed_at <= to_timestamp(${unusedUntil / 1000})
    ) killable
    WHERE number <= ${limit} GROUP BY datasource ORDER BY datasource`)
  return rows.map(({ dataSource, startMs, endMs }) => ({
    dataSource,
    interval: { start: readTime(startMs), end: readTime(endMs) },
  }))
}
