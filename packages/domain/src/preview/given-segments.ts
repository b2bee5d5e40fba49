import { analyzeTimeline } from '../timeline/index.ts'
import type { GivenSegment } from './parse-request.ts'
import type { PreviewSegments } from './segments.ts'

/** Given segments by datasource, each with its place in the list that was given. */
export interface GivenDatasource {
  readonly segments: PreviewSegments
  readonly places: readonly number[]
}

/** The datasources of given segments. No server serves any of them. Pauses now and then. */
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
