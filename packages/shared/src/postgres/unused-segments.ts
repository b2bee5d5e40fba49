import type { SegmentPayload } from '@svc/domain/segment'
import { importAuthor } from '@svc/domain/snapshot'
import type { Interval } from '@svc/domain/time'
import type { Sql } from 'sql-template-tag'
import { type Queries, sql } from './database.ts'
import { overlappingSegments } from './overlapping-segments.ts'
import { readSegment, type SegmentRow, type StoredSegment, segmentColumns } from './segment-rows.ts'
import { readTime, storedTime } from './stored-time.ts'

/** Which lists of rules were in force, by the audit ID of their last change; 0 for a list without a recorded change. */
export interface RulesInForce {
  readonly rulesId: number
  readonly defaultRulesId: number
}

/** A drop rule that marked a segment as unused. */
export interface DropRuleCause extends RulesInForce {
  readonly kind: 'dropRule'
  readonly rule: string
  /** Whether the rule is one of the default rules; null if an earlier version of svc marked the segment. */
  readonly isDefaultRule: boolean | null
}

/** Why a segment became unused. */
export type UnusedCause =
  | DropRuleCause
  | { readonly kind: 'overshadowed'; readonly byVersion: string }
  | { readonly kind: 'request'; readonly identity: string }
  | { readonly kind: 'task'; readonly taskId: string }
  /** It was already unused in the cluster that it was imported from, which does not show why. */
  | { readonly kind: 'import' }

/** Returns whether an import created the cluster: its audit entries are then the first ones. */
export async function isImported(queries: Queries): Promise<boolean> {
  const [row] = await queries.query<{ imported: boolean }>(sql`
    SELECT bool_or(author = ${importAuthor}) AS imported FROM (
      SELECT author FROM audit ORDER BY id LIMIT 100
    ) AS first`)
  return row?.imported === true
}

/** An import is stored as a request by its author. */
const storedKind = ({ kind }: UnusedCause): string => (kind === 'import' ? 'request' : kind)

function detailOf(cause: UnusedCause): string {
  if (cause.kind === 'import') return importAuthor
  if (cause.kind === 'dropRule') return cause.rule
  if (cause.kind === 'overshadowed') return cause.byVersion
  return cause.kind === 'request' ? cause.identity : cause.taskId
}

/**
 * Marks segments as unused, each with its cause: one for all, or by the position of the ID. Returns how many were used
 * before.
 */
export async function markUnused(
  transaction: Queries,
  ids: readonly string[],
  cause: UnusedCause | readonly UnusedCause[],
  now: number,
): Promise<number> {
  const causes = Array.isArray(cause)
    ? (cause as readonly UnusedCause[])
    : ids.map(() => cause as UnusedCause)
  const ofDropRules = (name: keyof DropRuleCause) =>
    causes.map((one) => (one.kind === 'dropRule' ? one[name] : null))
  const rows = await transaction.query(sql`
    UPDATE segments SET used = false, used_changed_at = to_timestamp(${now / 1000}), unused_cause = marked.kind,
      unused_detail = marked.detail, unused_rules_id = marked.rules_id,
      unused_default_rules_id = marked.default_rules_id, unused_by_default_rules = marked.by_default_rules
    FROM unnest(${ids}::text[], ${causes.map(storedKind)}::text[], ${causes.map(detailOf)}::text[],
      ${ofDropRules('rulesId')}::bigint[], ${ofDropRules('defaultRulesId')}::bigint[],
      ${ofDropRules('isDefaultRule')}::boolean[])
      AS marked (id, kind, detail, rules_id, default_rules_id, by_default_rules)
    WHERE segments.id = marked.id AND used RETURNING segments.id`)
  return rows.length
}

/** Marks segments as used. Returns how many were unused before. */
export async function markUsed(transaction: Queries, ids: readonly string[], now: number): Promise<number> {
  const rows = await transaction.query(sql`
    UPDATE segments SET used = true, used_changed_at = to_timestamp(${now / 1000}), unused_cause = NULL,
      unused_detail = NULL, unused_rules_id = NULL, unused_default_rules_id = NULL, unused_by_default_rules = NULL
    WHERE id = ANY(${ids}) AND NOT used RETURNING id`)
  return rows.length
}

/**
 * Deletes unused segments, counts those that a drop rule had marked, and records that the task `taskId` deleted them. Returns
 * the payloads of the deleted ones, whose files may be removed now.
 */
export async function eraseUnused(
  transaction: Queries,
  ids: readonly string[],
  taskId?: string,
): Promise<SegmentPayload[]> {
  const rows = await transaction.query<{ payload: SegmentPayload }>(sql`
    WITH erased AS (
      DELETE FROM segments WHERE id = ANY(${ids}) AND NOT used RETURNING *
    ), counted AS (
      INSERT INTO killed_segments AS killed
        (datasource, start_ms, end_ms, rules_id, default_rules_id, segments, size_bytes)
      SELECT datasource, start_ms, end_ms, unused_rules_id, unused_default_rules_id, count(*), sum(size_bytes)
      FROM erased WHERE unused_cause = 'dropRule'
      GROUP BY datasource, start_ms, end_ms, unused_rules_id, unused_default_rules_id
      ON CONFLICT (datasource, start_ms, end_ms, rules_id, default_rules_id) DO UPDATE SET
        segments = killed.segments + excluded.segments, size_bytes = killed.size_bytes + excluded.size_bytes
    ), recorded AS (
      INSERT INTO segment_kills (datasource, start_ms, end_ms, version, task_id)
      SELECT DISTINCT erased.datasource, erased.start_ms, erased.end_ms, erased.version, tasks.id
      FROM erased JOIN tasks ON tasks.id = ${taskId ?? null}
      ON CONFLICT DO NOTHING
    )
    SELECT payload FROM erased`)
  return rows.map(({ payload }) => payload)
}

/** A task that deleted segments. */
export interface SegmentKill {
  /** The task ID that users see. */
  readonly shownId: string
  /** When the task ended, in epoch milliseconds; null while it is running. */
  readonly finishedAt: number | null
}

/** Returns the newest tasks that deleted segments of an interval and version, and how many tasks did. */
export async function loadSegmentKills(
  queries: Queries,
  dataSource: string,
  { interval: { start, end }, version }: { readonly interval: Interval; readonly version: string },
  limit: number,
): Promise<{ readonly newest: readonly SegmentKill[]; readonly count: number }> {
  const rows = await queries.query<SegmentKill & { readonly count: number }>(sql`
    SELECT split_part(id, chr(1), 1) AS "shownId", (extract(epoch FROM finished_at) * 1000)::float8 AS "finishedAt",
      count(*) OVER ()::int AS count
    FROM segment_kills kills JOIN tasks ON tasks.id = kills.task_id
    WHERE kills.datasource = ${dataSource} AND kills.version = ${version}
      AND kills.start_ms = ${storedTime(start)} AND kills.end_ms = ${storedTime(end)}
    ORDER BY created_at DESC, id LIMIT ${limit}`)
  return { newest: rows, count: rows[0]?.count ?? 0 }
}

/** An unused segment, and why it is unused. */
export interface UnusedSegment {
  readonly id: string
  readonly interval: Interval
  readonly version: string
  readonly partitionNum: number
  readonly sizeBytes: number
  /** When it became unused, in epoch milliseconds; null if that is unknown. */
  readonly since: number | null
  /** Null if that is unknown. */
  readonly cause: UnusedCause | null
}

type UnusedRow = SegmentRow & {
  readonly since: number | null
  readonly kind: Exclude<UnusedCause['kind'], 'import'> | null
  readonly detail: string
  readonly rulesId: string
  readonly defaultRulesId: string
  readonly isDefaultRule: boolean | null
}

const unusedColumns = sql`
  ${segmentColumns}, (extract(epoch FROM used_changed_at) * 1000)::float8 AS since, unused_cause AS kind,
  unused_detail AS detail, unused_rules_id AS "rulesId", unused_default_rules_id AS "defaultRulesId",
  unused_by_default_rules AS "isDefaultRule"`

function readUnused(row: UnusedRow): UnusedSegment {
  const { id, interval, version, partitionNum, sizeBytes } = readSegment(row)
  return { id, interval, version, partitionNum, sizeBytes, since: row.since, cause: causeOf(row) }
}

function causeOf(row: UnusedRow): UnusedCause | null {
  const { kind, detail, isDefaultRule } = row
  switch (kind) {
    case null:
      return null
    case 'dropRule':
      return {
        kind,
        rule: detail,
        isDefaultRule,
        rulesId: Number(row.rulesId),
        defaultRulesId: Number(row.defaultRulesId),
      }
    case 'overshadowed':
      return { kind, byVersion: detail }
    case 'request':
      return detail === importAuthor ? { kind: 'import' } : { kind, identity: detail }
    case 'task':
      return { kind, taskId: detail }
  }
}

/** Returns an unused segment; undefined if there is none with this ID in the datasource. */
export async function loadUnused(
  queries: Queries,
  dataSource: string,
  id: string,
): Promise<UnusedSegment | undefined> {
  const [row] = await queries.query<UnusedRow>(sql`
    SELECT ${unusedColumns} FROM segments WHERE id = ${id} AND datasource = ${dataSource} AND NOT used`)
  return row && readUnused(row)
}

/** The unused segments with the same kind of cause. */
export interface UnusedCount {
  readonly segments: number
  readonly example: UnusedSegment
}

/** Counts the unused segments that overlap an interval by their kind of cause, the most first. */
export async function countUnused(
  queries: Queries,
  dataSource: string,
  interval: Interval,
): Promise<UnusedCount[]> {
  const rows = await queries.query<UnusedRow & { readonly segments: number }>(sql`
    SELECT ${unusedColumns}, counted.segments FROM segments JOIN (
      SELECT min(id) AS "exampleId", count(*)::int AS segments FROM segments
      WHERE datasource = ${dataSource} AND NOT used
        AND start_ms < ${storedTime(interval.end)} AND end_ms > ${storedTime(interval.start)}
      GROUP BY unused_cause
    ) AS counted ON id = "exampleId"
    ORDER BY counted.segments DESC, id`)
  return rows.map((row) => ({ segments: row.segments, example: readUnused(row) }))
}

/** Changes to one list of rules: that of a datasource, or the cluster's default rules. */
export interface RuleChanges {
  readonly of: 'rules' | 'defaultRules'
  /** The audit ID of the first of these changes; 0 for all. */
  readonly since: number
}

/** Unused segments of one interval and version that drop rules or requests marked. */
export interface UnusedGroup {
  readonly dataSource: string
  readonly cause: 'dropRule' | 'request'
  readonly interval: Interval
  readonly version: string
  readonly sizesBytes: readonly number[]
}

/** Deleted segments of one interval that drop rules had marked as unused. */
export interface KilledGroup {
  readonly dataSource: string
  readonly interval: Interval
  readonly segments: number
  readonly sizeBytes: number
}

interface IntervalRow {
  readonly startMs: string
  readonly endMs: string
}

const withInterval = <Row extends IntervalRow>({ startMs, endMs, ...row }: Row) => ({
  ...row,
  interval: { start: readTime(startMs), end: readTime(endMs) },
})

const isIn = (dataSources: readonly string[] | undefined): Sql =>
  sql`(${dataSources ?? null}::text[] IS NULL OR datasource = ANY(${dataSources ?? null}::text[]))`

const isDropped = ({ since, of }: RuleChanges): Sql =>
  of === 'rules'
    ? sql`unused_cause = 'dropRule' AND unused_rules_id >= ${since}`
    : sql`unused_cause = 'dropRule' AND unused_default_rules_id >= ${since}`

/**
 * Returns the unused segments that drop rules marked since some changes, and those that requests marked, by interval,
 * version, and cause. Without `dataSources`, those of all.
 */
export async function loadUnusedGroups(
  queries: Queries,
  changes: RuleChanges,
  dataSources?: readonly string[],
): Promise<UnusedGroup[]> {
  const rows = await queries.query<Omit<UnusedGroup, 'interval'> & IntervalRow>(sql`
    SELECT datasource AS "dataSource", unused_cause AS cause, start_ms::text AS "startMs", end_ms::text AS "endMs", version,
      array_agg(size_bytes::float8 ORDER BY partition_num) AS "sizesBytes"
    FROM segments WHERE NOT used AND ${isIn(dataSources)} AND (${isDropped(changes)} OR unused_cause = 'request')
    GROUP BY datasource, start_ms, end_ms, version, unused_cause
    ORDER BY datasource, start_ms, end_ms, version, unused_cause`)
  return rows.map(withInterval)
}

/**
 * Returns how many segments kill tasks have deleted that drop rules had marked since some changes, by interval. Without
 * `dataSources`, those of all.
 */
export async function loadKilledGroups(
  queries: Queries,
  { since, of }: RuleChanges,
  dataSources?: readonly string[],
): Promise<KilledGroup[]> {
  const isSince = of === 'rules' ? sql`rules_id >= ${since}` : sql`default_rules_id >= ${since}`
  const rows = await queries.query<Omit<KilledGroup, 'interval'> & IntervalRow>(sql`
    SELECT datasource AS "dataSource", start_ms::text AS "startMs", end_ms::text AS "endMs",
      sum(segments)::integer AS segments, sum(size_bytes)::float8 AS "sizeBytes"
    FROM killed_segments WHERE ${isIn(dataSources)} AND ${isSince}
    GROUP BY datasource, start_ms, end_ms ORDER BY datasource, start_ms, end_ms`)
  return rows.map(withInterval)
}

/** Returns which lists of rules marked deleted segments of exactly this interval as unused, the latest first. */
export async function loadRulesOfKilled(
  queries: Queries,
  dataSource: string,
  { start, end }: Interval,
): Promise<RulesInForce[]> {
  const rows = await queries.query<Record<keyof RulesInForce, string>>(sql`
    SELECT rules_id::text AS "rulesId", default_rules_id::text AS "defaultRulesId" FROM killed_segments
    WHERE datasource = ${dataSource} AND start_ms = ${storedTime(start)} AND end_ms = ${storedTime(end)}
    ORDER BY greatest(rules_id, default_rules_id) DESC`)
  return rows.map(({ rulesId, defaultRulesId }) => ({
    rulesId: Number(rulesId),
    defaultRulesId: Number(defaultRulesId),
  }))
}

/** Which segments of a datasource to read: those that overlap an interval, or those after a segment. */
export interface DroppedPart {
  readonly overlapping?: Interval
  readonly after?: Pick<StoredSegment, 'interval' | 'id'> | undefined
  readonly limit?: number
}

/** Returns unused segments of a datasource that drop rules marked since some changes, by start and ID. */
export async function loadDroppedSegments(
  queries: Queries,
  dataSource: string,
  changes: RuleChanges,
  { overlapping, after, limit }: DroppedPart,
): Promise<StoredSegment[]> {
  const segments = overlapping === undefined ? sql`segments` : overlappingSegments(dataSource, overlapping)
  const isAfter =
    after === undefined
      ? sql`true`
      : sql`(start_ms, id) > (${storedTime(after.interval.start)}::bigint, ${after.id})`
  const rows = await queries.query<SegmentRow>(sql`
    SELECT ${segmentColumns} FROM ${segments}
    WHERE NOT used AND datasource = ${dataSource} AND ${isDropped(changes)} AND ${isAfter}
    ORDER BY start_ms, id LIMIT ${limit ?? null}`)
  return rows.map(readSegment)
}
