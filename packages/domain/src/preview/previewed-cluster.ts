import type { RulesByName } from '../rules/index.ts'
import type { PreviewSegments, SegmentColumns } from './segments.ts'
import type { PreviewServer } from './servers-by-tier.ts'

/** A datasource of a cluster. Its columns are kept from one preview to the next. */
export interface PreviewedDatasource {
  readonly segments: PreviewSegments
  readonly columns: SegmentColumns | undefined
  /** Keeps the columns for the next preview. */
  keep(columns: SegmentColumns): void
}

/** The cluster that a rule change is previewed on. */
export interface PreviewedCluster {
  /** Epoch milliseconds. */
  readonly now: number
  /** Datasources with used segments. */
  readonly datasources: readonly PreviewedDatasource[]
  /** Segments refer to servers by their index in this list. */
  readonly servers: readonly PreviewServer[]
  /** The stored rules. */
  readonly rules: RulesByName
}

/** Returns a datasource that has no segments yet. */
export const withoutSegments = (dataSource: string): PreviewSegments => ({
  dataSource,
  count: 0,
  start: () => 0,
  end: () => 0,
  sizeBytes: () => 0,
  version: () => '',
  partitionNum: () => 0,
  isOvershadowed: () => false,
  forEachCopy: () => undefined,
})
