import { conflict } from '../failure/index.ts'
import { type Segment, segmentId } from '../segment/index.ts'
import {
  contains,
  formatInstant,
  formatInterval,
  type Interval,
  instantOf,
  overlapsOf,
  sameInterval,
} from '../time/index.ts'
import { analyzeTimeline } from '../timeline/index.ts'

/** A segment in the metadata store that a publication may affect. */
export interface ExistingSegment extends Segment {
  readonly used: boolean
}

/** A new file of rows that is not a segment yet: it has no version or partition number. */
export interface NewChunk {
  readonly interval: Interval
  readonly sizeBytes: number
  readonly totalRows: number
}

/** The highest partition number of the erased segments of this interval and version. */
export interface PartitionFloor {
  readonly interval: Interval
  readonly version: string
  readonly partitionNum: number
}

/** How new chunks relate to existing segments. */
export type PublicationMode =
  /** They are added to the visible segments of their interval. */
  | { readonly kind: 'append' }
  /**
   * They overshadow existing segments. Segments completely within `dropExisting` become unused even without new data.
   */
  | { readonly kind: 'replace'; readonly dropExisting: readonly Interval[] }

/** Input of `planPublication`. */
export interface PublicationInput<Chunk extends NewChunk> {
  readonly dataSource: string
  readonly chunks: readonly Chunk[]
  /** All segments of the datasource, used or not, that overlap a chunk or an interval of `dropExisting`. */
  readonly existing: readonly ExistingSegment[]
  /** The same for erased segments: their versions and partition numbers are not reused. */
  readonly floors: readonly PartitionFloor[]
  readonly mode: PublicationMode
  /** Time of the cluster in milliseconds since the epoch. New versions are based on it. */
  readonly now: number
}

/** The segments to insert, each with its chunk, and the ids of segments to mark as unused in the same transaction. */
export interface Publication<Chunk extends NewChunk> {
  readonly added: readonly { readonly segment: Segment; readonly chunk: Chunk }[]
  readonly unused: readonly string[]
}

/**
 * Assigns versions and partition numbers to chunks. Appended chunks get the visible version of their interval. Throws
 * conflict if a visible segment with a different interval overlaps, because appending would overshadow its data.
 */
export function planPublication<Chunk extends NewChunk>(input: PublicationInput<Chunk>): Publication<Chunk> {
  const { chunks, existing, floors, mode } = input
  const groups = [...Map.groupBy(chunks, ({ interval }) => formatInterval(interval)).values()]
  const intervals = groups.map(([first]) => (first as Chunk).interval)
  const existingOf = overlapsOf(intervals, existing)
  const floorsOf = overlapsOf(intervals, floors)
  const added = groups.flatMap((group, index) => {
    const present = existingOf[index] as ExistingSegment[]
    const erased = floorsOf[index] as PartitionFloor[]
    return mode.kind === 'append'
      ? append(input, group, present, erased)
      : replace(input, group, present, erased)
  })
  const dropped = mode.kind === 'replace' ? mode.dropExisting : []
  const within = new Set(
    overlapsOf(dropped, existing).flatMap((found, index) =>
      found.filter(({ interval }) => contains(dropped[index] as Interval, interval)),
    ),
  )
  const unused = existing.filter((segment) => segment.used && within.has(segment)).map(({ id }) => id)
  return { added, unused }
}

function append<Chunk extends NewChunk>(
  input: PublicationInput<Chunk>,
  chunks: readonly Chunk[],
  overlapping: readonly ExistingSegment[],
  erased: readonly PartitionFloor[],
) {
  const { interval } = chunks[0] as Chunk
  const used = overlapping.filter((segment) => segment.used)
  const { overshadowed } = analyzeTimeline(used)
  const visible = used.filter((_, index) => !overshadowed[index])
  const other = visible.find((segment) => !sameInterval(segment.interval, interval))
  if (other) {
    throw conflict(
      `Cannot append rows of [${formatInterval(interval)}] to datasource [${input.dataSource}]: segment [${other.id}] has a different interval. Use the same [segmentGranularity], or replace the existing data`,
    )
  }
  const newest = visible.reduce<ExistingSegment | undefined>(
    (best, segment) => (best && best.version >= segment.version ? best : segment),
    undefined,
  )
  const taken = [...overlapping, ...erased]
  if (!newest) return numbered(input, chunks, freshVersion(input, taken), 0, 0)
  const siblings = taken.filter(
    ({ version, interval: existing }) => version === newest.version && sameInterval(existing, interval),
  )
  const next = 1 + siblings.reduce((max, { partitionNum }) => Math.max(max, partitionNum), -1)
  return numbered(input, chunks, newest.version, next, newest.partitions)
}

function replace<Chunk extends NewChunk>(
  input: PublicationInput<Chunk>,
  chunks: readonly Chunk[],
  overlapping: readonly ExistingSegment[],
  erased: readonly PartitionFloor[],
) {
  return numbered(input, chunks, freshVersion(input, [...overlapping, ...erased]), 0, chunks.length)
}

function numbered<Chunk extends NewChunk>(
  { dataSource }: PublicationInput<Chunk>,
  chunks: readonly Chunk[],
  version: string,
  first: number,
  partitions: number,
) {
  return chunks.map((chunk, index) => {
    const { interval, sizeBytes, totalRows } = chunk
    const key = { dataSource, interval, version, partitionNum: first + index }
    return { chunk, segment: { ...key, id: segmentId(key), partitions, sizeBytes, totalRows } }
  })
}

/**
 * Returns a version based on now that is higher than all others of the interval, including unused and erased segments.
 */
function freshVersion(
  { now }: Pick<PublicationInput<NewChunk>, 'now'>,
  taken: readonly { readonly version: string }[],
): string {
  const highest =
    taken
      .map(({ version }) => version)
      .sort()
      .at(-1) ?? ''
  const candidate = formatInstant(now)
  if (candidate > highest) return candidate
  return formatInstant((instantOf(highest) ?? now) + 1)
}
