import type { MetricSchema } from '@svc/domain/specs'
import type { Granularity } from '@svc/domain/time'
import { literal } from '../duckdb/index.ts'

/** Metadata in a segment file about how its rows were made: a rewrite must aggregate them the same way. */
export interface SegmentMetadata {
  readonly rollup: boolean
  readonly queryGranularity: Granularity
  readonly metrics: readonly MetricSchema[]
}

/** Key of this metadata in the key-value metadata of a Parquet file. */
export const segmentMetadataKey = 'svc.segment'

/** Returns the options of COPY to write a segment file. */
export const segmentFormatSql = (metadata: SegmentMetadata): string =>
  `FORMAT parquet, COMPRESSION zstd, KV_METADATA {'${segmentMetadataKey}': ${literal(JSON.stringify(metadata))}}`
