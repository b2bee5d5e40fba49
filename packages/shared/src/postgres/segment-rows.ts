import type { Segment } from '@svc/domain/segment'
import { sql } from './database.ts'
import { readTime } from './stored-time.ts'

/** A row of the segment table without its payload. */
export interface StoredSegment extends Segment {
  readonly used: boolean
  /** ID of its compaction state, see loadCompactionStates; null if it was not compacted. */
  readonly compactionState: number | null
  /** ID of its columns, see loadSegmentSchemas; null if they are unknown. */
  readonly schemaId: number | null
}

/** A row as read with `segmentColumns`. */
export interface SegmentRow {
  readonly id: string
  readonly dataSource: string
  readonly startMs: string
  readonly endMs: string
  readonly version: string
  readonly partitionNum: number
  readonly partitions: number
  readonly sizeBytes: number
  readonly totalRows: number
  readonly used: boolean
  readonly compactionState: number | null
  readonly schemaId: number | null
}

/** The columns of a StoredSegment. */
export const segmentColumns = sql`id, datasource AS "dataSource", start_ms::text AS "startMs", end_ms::text AS "endMs", version,
  partition_num AS "partitionNum", partitions, size_bytes AS "sizeBytes", total_rows AS "totalRows", used,
  compaction_state AS "compactionState", schema_id AS "schemaId"`

/** Returns the segment of a row. */
export function readSegment({ startMs, endMs, ...row }: SegmentRow): StoredSegment {
  return { ...row, interval: { start: readTime(startMs), end: readTime(endMs) } }
}
