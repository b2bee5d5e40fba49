import { type Outcome, outcomeOf, type PreviewRow } from '@svc/domain/preview'
import { parseSegmentId, segmentId } from '@svc/domain/segment'
import { parseInterval } from '@svc/domain/time'
import { sumOf } from '../sum-of.ts'

/** Segments that rules would mark as unused, in columns, because there may be a million of them. */
export interface DroppedSegments {
  readonly dataSource: string
  readonly starts: Float64Array
  readonly ends: Float64Array
  readonly versions: readonly string[]
  /** Index of the version of each segment. */
  readonly versionAt: Uint32Array
  readonly partitionNums: Uint32Array
}

// Number of segments between two pauses.
const slice = 16_384

/** Returns the segments of a datasource that its rules would mark as unused. Yields regularly. */
export function* droppedSegmentsOf(
  outcome: Outcome,
  dataSource: string,
): Generator<undefined, DroppedSegments> {
  const found = outcomeOf(outcome, dataSource)
  const ranges = found?.stretches.filter(({ rule }) => found.targetOf(rule).action === 'drop') ?? []
  const count = sumOf(ranges, ({ from, to }) => to - from)
  const [starts, ends] = [new Float64Array(count), new Float64Array(count)]
  const [versionAt, partitionNums] = [new Uint32Array(count), new Uint32Array(count)]
  const places = new Map<string, number>()
  let at = 0
  for (const { from, to } of ranges) {
    for (let position = from; position < to; position += 1) {
      if (at % slice === 0) yield
      const { segments, columns } = found!
      const index = columns.indexes[position]!
      const version = segments.version(index)
      const place = places.get(version) ?? places.size
      places.set(version, place)
      starts[at] = segments.start(index)
      ends[at] = segments.end(index)
      versionAt[at] = place
      partitionNums[at] = segments.partitionNum(index)
      at += 1
    }
  }
  return { dataSource, starts, ends, versions: [...places.keys()], versionAt, partitionNums }
}

/** Returns the segments of a datasource that the coordinator would mark as unused. */
export function droppedSegmentsIn(dataSource: string, rows: readonly PreviewRow[]): DroppedSegments {
  // Overshadowed segments are marked as unused whatever the rules are.
  const dropped = rows.filter(({ action, overshadowed }) => action === 'drop' && !overshadowed)
  const intervals = dropped.map(({ interval }) => parseInterval(interval))
  const versions = [...new Set(dropped.map(({ version }) => version))]
  const places = new Map(versions.map((version, place) => [version, place]))
  return {
    dataSource,
    starts: Float64Array.from(intervals, ({ start }) => start),
    ends: Float64Array.from(intervals, ({ end }) => end),
    versions,
    versionAt: Uint32Array.from(dropped, ({ version }) => places.get(version)!),
    partitionNums: Uint32Array.from(dropped, ({ partitionNum }) => partitionNum),
  }
}

/** The ids of segments. They are composed when they are needed, because a million ids take 100 MB. */
export class SegmentIds {
  readonly length: number
  private readonly segments: DroppedSegments

  constructor(segments: DroppedSegments) {
    this.segments = segments
    this.length = segments.starts.length
  }

  /** Returns the ids from `from` to `to`, exclusive. */
  slice(from: number, to: number): string[] {
    const { dataSource, starts, ends, versions, versionAt, partitionNums } = this.segments
    return Array.from(starts.subarray(from, to), (start, offset) => {
      const at = from + offset
      return segmentId({
        dataSource,
        interval: { start, end: ends[at]! },
        version: versions[versionAt[at]!]!,
        partitionNum: partitionNums[at]!,
      })
    })
  }
}

/** The ids of segments, as text or composed when they are needed. */
export type Ids = Pick<readonly string[], 'length' | 'slice'>

/** Returns ids in a form that takes less memory; the same ones if they are not ids of segments of the datasource. */
export function compactIds(dataSource: string, ids: readonly string[]): Ids {
  const keys = ids.map((id) => parseSegmentId(dataSource, id))
  if (!keys.every((key) => key !== undefined)) return ids
  const versions = [...new Set(keys.map(({ version }) => version))]
  const places = new Map(versions.map((version, place) => [version, place]))
  return new SegmentIds({
    dataSource,
    starts: Float64Array.from(keys, ({ interval }) => interval.start),
    ends: Float64Array.from(keys, ({ interval }) => interval.end),
    versions,
    versionAt: Uint32Array.from(keys, ({ version }) => places.get(version)!),
    partitionNums: Uint32Array.from(keys, ({ partitionNum }) => partitionNum),
  })
}
