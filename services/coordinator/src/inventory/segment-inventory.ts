import type { DatasourceSegments } from '@svc/domain/retention'
import type { Segment } from '@svc/domain/segment'
import { analyzeTimeline } from '@svc/domain/timeline'
import { type Database, loadSegmentChanges, type SegmentCursor } from '@svc/shared/postgres'

/** The used segments of the metadata store, followed by reading what changed. */
export interface SegmentInventory {
  /** Reads what changed since the last time; concurrent callers share one reading. */
  refresh(): Promise<void>
  /** Forgets everything, as a new leader must: what was erased long ago is no longer told as a change. */
  reset(): void
  isUsed(id: string): boolean
  /** A used segment by its id. */
  get(id: string): Segment | undefined
  datasources(): readonly DatasourceSegments[]
}

interface Datasource {
  readonly segments: Map<string, Segment>
  /** What follows from the segments; undefined after a change. */
  analyzed: DatasourceSegments | undefined
}

export function createSegmentInventory(database: Database): SegmentInventory {
  const datasources = new Map<string, Datasource>()
  const datasourceOf = new Map<string, string>()
  let cursor: SegmentCursor | undefined
  let underWay: Promise<void> | undefined
  // Counts the resets: what a reading from before one brings is out of date.
  let resets = 0

  const remove = (id: string): void => {
    const name = datasourceOf.get(id)
    if (name === undefined) return
    datasourceOf.delete(id)
    const datasource = datasources.get(name) as Datasource
    datasource.segments.delete(id)
    datasource.analyzed = undefined
    if (datasource.segments.size === 0) datasources.delete(name)
  }
  const add = (segment: Segment): void => {
    // The changes are read again from where a transaction may have been open: most of them are known.
    if (datasourceOf.has(segment.id)) return
    let datasource = datasources.get(segment.dataSource)
    if (!datasource) {
      datasource = { segments: new Map(), analyzed: undefined }
      datasources.set(segment.dataSource, datasource)
    }
    datasource.segments.set(segment.id, segment)
    datasource.analyzed = undefined
    datasourceOf.set(segment.id, segment.dataSource)
  }
  const read = async (): Promise<void> => {
    const readFor = resets
    const { changed, removed, next } = await loadSegmentChanges(database, cursor)
    if (readFor !== resets) return
    for (const { used, ...segment } of changed) {
      if (used) add(segment)
      else remove(segment.id)
    }
    for (const id of removed) remove(id)
    cursor = next
  }
  return {
    refresh: () => {
      if (!underWay) {
        const started = read().finally(() => {
          if (underWay === started) underWay = undefined
        })
        underWay = started
      }
      return underWay
    },
    reset: () => {
      datasources.clear()
      datasourceOf.clear()
      cursor = undefined
      underWay = undefined
      resets += 1
    },
    isUsed: (id) => datasourceOf.has(id),
    get: (id) => datasources.get(datasourceOf.get(id) ?? '')?.segments.get(id),
    datasources: () =>
      [...datasources].map(([dataSource, datasource]) => {
        datasource.analyzed ??= analyze(dataSource, [...datasource.segments.values()])
        return datasource.analyzed
      }),
  }
}

function analyze(dataSource: string, segments: readonly Segment[]): DatasourceSegments {
  const { overshadowed } = analyzeTimeline(segments)
  const ids = segments.filter((_, index) => overshadowed[index]).map(({ id }) => id)
  return { dataSource, segments, overshadowed: new Set(ids) }
}
