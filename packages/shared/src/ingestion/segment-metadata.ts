import type { MetricSchema } from '@svc/domain/compaction-config'
import type { Granularity } from '@svc/domain/time'
import { literal } from '../duckdb/index.ts'

/** What a segment's file says of how its rows came about: whoever rewrites them must aggregate them the same way. */
export interface SegmentMetadata {
  readonly rollup: boolean
  readonly queryGranularity: Granularity
  readonly metrics: readonly MetricSchema[]
}

/** The key of that among the notes of a Parquet file. */
export const segmentMetadataKey = 'svc.segment'

/** The options of COPY that write a segment's file. */
export const segmentFormatSql = (metadata: SegmentMetadata): string =>
  `FORMAT parquet, COMPRESSION zstd, KV_METADATA {'${segmentMetadataKey}': ${literal(JSON.stringify(metadata))}}`
