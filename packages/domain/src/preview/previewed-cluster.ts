import type { RulesByName } from '../rules/index.ts'
import { finish } from '../steps/index.ts'
import { columnsOf, type PreviewSegments, type SegmentColumns } from './segments.ts'
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

/** Returns a datasource whose columns are computed once, when a preview needs them. */
export function withColumns(segments: PreviewSegments): PreviewedDatasource {
  let columns: SegmentColumns | undefined
  return {
    segments,
    get columns() {
      columns ??= finish(columnsOf(segments))
      return columns
    },
    keep: () => undefined,
  }
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
