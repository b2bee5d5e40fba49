import { conflict } from '../failure/index.ts'
import { type Segment, segmentId } from '../segment/index.ts'
import {
  contains,
  formatInstant,
  formatInterval,
  type Interval,
  overlapsOf,
  readInstant,
  sameInterval,
} from '../time/index.ts'
import { analyzeTimeline } from '../timeline/index.ts'

/** A segment of the metadata store that a publication may touch. */
export interface ExistingSegment extends Segment {
  readonly used: boolean
}

/** A new file of rows, not yet a segment: it has neither version nor partition number. */
export interface NewChunk {
  readonly interval: Interval
  readonly sizeBytes: number
  readonly totalRows: number
}

/** The highest partition number that an erased segment of this interval and version had. */
export interface PartitionFloor {
  readonly interval: Interval
  readonly version: string
  readonly partitionNum: number
}

/** How new chunks relate to what is there. */
export type PublicationMode =
  /** They are added to what is visible in their interval. */
  | { readonly kind: 'append' }
  /** They hide what is there; what lies wholly in `dropExisting` becomes unused even where nothing new comes. */
  | { readonly kind: 'replace'; readonly dropExisting: readonly Interval[] }

/** What a publication is decided from. */
export interface PublicationInput<Chunk extends NewChunk> {
  readonly dataSource: string
  readonly chunks: readonly Chunk[]
  /** All segments of the datasource, used or not, that overlap a chunk or an interval of `dropExisting`. */
  readonly existing: readonly ExistingSegment[]
  /** Of erased segments likewise: neither their versions nor their numbers are given out again. */
  readonly floors: readonly PartitionFloor[]
  readonly mode: PublicationMode
  /** The cluster's time in epoch milliseconds; versions are made from it. */
  readonly now: number
}

/** The segments to insert, each with its chunk, and the ids to mark unused, in one transaction. */
export interface Publication<Chunk extends NewChunk> {
  readonly added: readonly { readonly segment: Segment; readonly chunk: Chunk }[]
  readonly unused: readonly string[]
}

/**
 * Gives chunks their versions and partition numbers. Appended chunks join the visible version of their interval;
 * where visible segments of another length overlap, they could join none without hiding data: a `conflict` failure.
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
      `Rows of [${formatInterval(interval)}] cannot be appended to datasource [${input.dataSource}]: its segment [${other.id}] has another interval; expected the same segmentGranularity, or replacing`,
    )
  }
  const newest = visible.reduce<ExistingSegment | undefined>(
    (best, segment) => (best && best.version >= segment.version ? best : segment),
    undefined,
  )
  const taken = [...overlapping, ...erased]
  if (!newest) return numbered(input, chunks, freshVersion(input, taken), 0, 0)
  const siblings = taken.filter(
    ({ version, interval: theirs }) => version === newest.version && sameInterval(theirs, interval),
  )
  const next = 1 + siblings.reduce((most, { partitionNum }) => Math.max(most, partitionNum), -1)
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

/** A version of now that is higher than every other of the interval, those of unused and erased segments included. */
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
  return formatInstant((readInstant(highest) ?? now) + 1)
}
