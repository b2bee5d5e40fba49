import type { RulesByName } from '../rules/index.ts'
import type { HeldRuns } from './held-copies.ts'
import type { PreviewSegments, SegmentColumns } from './segments.ts'
import type { PreviewServer } from './servers-by-tier.ts'

/** A datasource of a cluster. What is known about its segments is kept from one preview to the next. */
export interface PreviewedDatasource {
  readonly segments: PreviewSegments
  readonly columns: SegmentColumns | undefined
  /** The replicas on the servers of the cluster. */
  readonly held?: HeldRuns | undefined
  /** Keeps the columns and the replicas for the next preview. */
  keep(columns: SegmentColumns, held: HeldRuns | undefined): void
}

/** Returns a datasource that keeps what a preview finds out about its segments. */
export function withColumns(segments: PreviewSegments): PreviewedDatasource {
  let known: Pick<PreviewedDatasource, 'columns' | 'held'> = { columns: undefined }
  return {
    segments,
    get columns() {
      return known.columns
    },
    get held() {
      return known.held
    },
    keep: (columns, held) => {
      known = { columns, held: held ?? known.held }
    },
  }
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
