import { analyzeTimeline } from '../timeline/index.ts'
import type { GivenSegment } from './parse-request.ts'
import type { PreviewSegments } from './segments.ts'

/** Segments of a request, grouped by datasource, with their indexes in the request. */
export interface GivenDatasource {
  readonly segments: PreviewSegments
  readonly places: readonly number[]
}

/** Groups the segments of a request by datasource. No server serves them. Yields regularly. */
export function* groupGivenSegments(given: readonly GivenSegment[]): Generator<undefined, GivenDatasource[]> {
  const places = Map.groupBy(given.keys(), (place) => given[place]!.dataSource)
  const groups: GivenDatasource[] = []
  for (const [dataSource, own] of places) {
    yield
    const segments = own.map((place) => given[place]!)
    const { overshadowed } = analyzeTimeline(segments)
    groups.push({
      places: own,
      segments: {
        dataSource,
        count: segments.length,
        start: (index) => segments[index]!.interval.start,
        end: (index) => segments[index]!.interval.end,
        sizeBytes: (index) => segments[index]!.sizeBytes,
        version: (index) => segments[index]!.version,
        partitionNum: (index) => segments[index]!.partitionNum,
        isOvershadowed: (index) => overshadowed[index]!,
        forEachCopy: () => undefined,
      },
    })
  }
  return groups
}
