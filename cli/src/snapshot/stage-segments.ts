import { closeSync, createReadStream, createWriteStream, openSync, readSync, statfsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { unavailable } from '@svc/domain/failure'
import { formatSegmentRow, readSegmentRow, type SnapshotSegment, snapshotFiles } from '@svc/domain/snapshot'
import { linesOf, withExactLimits } from '@svc/shared/wire'
import type { SnapshotProblems } from './snapshot-problems.ts'
import type { SnapshotSource } from './snapshot-source.ts'

/** The file of a snapshot with its segments, one per line. */
export const segmentsFile = snapshotFiles.segments

/** The number of written segments, and which of them are overshadowed according to the source. */
export interface StagedSegments {
  readonly segments: number
  readonly overshadowedIds: ReadonlySet<string>
  /** Whether the source says of each segment whether it is overshadowed. */
  readonly saysOvershadowed: boolean
  /** Total size of those that are not overshadowed. */
  readonly sizeBytes: number
}

/** The positions of the written lines, in order of arrival. */
interface Lines {
  /** Byte offsets of the lines, and the end of the last line. */
  readonly offsets: number[]
  readonly rows: number[]
  lastId: string | undefined
  readonly overshadowedIds: Set<string>
  saysOvershadowed: boolean
  sizeBytes: number
  duplicates: number
  isSorted: boolean
}

/**
 * Writes the segments of a source to a folder, sorted by id, without duplicates. Unreadable and duplicate segments are
 * recorded as problems and skipped. Keeps only positions in memory, and ids if the source is not sorted.
 */
export async function stageSegments(
  source: SnapshotSource,
  folder: string,
  problems: SnapshotProblems,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (segments: number) => void },
): Promise<StagedSegments> {
  const arriving = path.join(folder, 'segments.arriving')
  const target = path.join(folder, segmentsFile)
  const lines: Lines = {
    offsets: [0],
    rows: [],
    lastId: undefined,
    overshadowedIds: new Set(),
    saysOvershadowed: true,
    sizeBytes: 0,
    duplicates: 0,
    isSorted: true,
  }
  await pipeline(writtenLines(source, lines, problems, onProgress, folder), createWriteStream(arriving), {
    signal,
  })
  if (lines.isSorted) await rename(arriving, target)
  else await pipeline(sortedLines(arriving, lines, problems), createWriteStream(target), { signal })
  await rm(arriving, { force: true })
  const { rows, duplicates, overshadowedIds, saysOvershadowed, sizeBytes } = lines
  return { segments: rows.length - duplicates, overshadowedIds, saysOvershadowed, sizeBytes }
}

// Max length of the text that is buffered before it is written.
const chunkLength = 64 * 1024
const progressStep = 10_000
const progressPeriodMs = 5000
// An endless source must not fill the disk.
const minFreeBytes = 100 * 1024 * 1024

function checkRoom(folder: string): void {
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize < minFreeBytes)
    throw unavailable(
      `Not enough disk space for [${folder}]: at least [${minFreeBytes}] bytes required. Free up space.`,
    )
}

async function* writtenLines(
  source: SnapshotSource,
  lines: Lines,
  problems: SnapshotProblems,
  onProgress: (segments: number) => void,
  folder: string,
): AsyncGenerator<string> {
  let chunk = ''
  let reportedAtMs = performance.now()
  for await (const { row, value, problem } of source.segments()) {
    if (row % progressStep === 0 || performance.now() - reportedAtMs > progressPeriodMs) {
      reportedAtMs = performance.now()
      onProgress(lines.rows.length)
      checkRoom(folder)
    }
    const read = problem === undefined ? readSegmentRow(value) : { problem }
    if ('problem' in read) {
      problems.note(`Segment row [${row}]: ${read.problem}`)
      continue
    }
    const line = `${withExactLimits(JSON.stringify(formatSegmentRow(read)))}\n`
    const { id } = read.segment
    if (lines.lastId !== undefined && lines.lastId >= id) lines.isSorted = false
    lines.lastId = id
    if (read.overshadowed === undefined) lines.saysOvershadowed = false
    if (read.overshadowed) lines.overshadowedIds.add(id)
    else lines.sizeBytes += read.segment.sizeBytes
    lines.rows.push(row)
    lines.offsets.push((lines.offsets.at(-1) as number) + Buffer.byteLength(line))
    chunk += line
    if (chunk.length >= chunkLength) {
      yield chunk
      chunk = ''
    }
  }
  yield chunk
}

/** The lines sorted by id, without duplicates. */
async function* sortedLines(file: string, lines: Lines, problems: SnapshotProblems): AsyncGenerator<Buffer> {
  const { offsets, rows } = lines
  const ids = await readIds(file)
  const order = Uint32Array.from(ids, (_, index) => index).sort((a, b) => {
    const [first, second] = [ids[a] as string, ids[b] as string]
    return first < second ? -1 : first > second ? 1 : a - b
  })
  const input = openSync(file, 'r')
  try {
    let last: string | undefined
    for (const index of order) {
      const id = ids[index] as string
      if (id === last) {
        problems.note(`Segment row [${rows[index]}]: duplicate segment [${id}]`)
        lines.duplicates += 1
        continue
      }
      last = id
      const start = offsets[index] as number
      const line = Buffer.allocUnsafe((offsets[index + 1] as number) - start)
      readSync(input, line, 0, line.length, start)
      yield line
    }
  } finally {
    closeSync(input)
  }
}

/** The staged segments without those that the source has marked as unused since it listed them. */
export interface RemainingSegments {
  readonly segments: number
  /** How many of them are overshadowed according to the source. */
  readonly overshadowed: number
  /** Whether the source says of each segment whether it is overshadowed. */
  readonly saysOvershadowed: boolean
  /** Total size of those that are not overshadowed. */
  readonly sizeBytes: number
  /** Number of segments that were removed, by datasource. */
  readonly nowUnused: ReadonlyMap<string, number>
}

/**
 * Removes the segments that are also in the list of unused segments. Clusters list a segment as used for a while after
 * they mark it as unused, and a snapshot reads the list of unused segments later.
 */
export async function removeUnusedSegments(
  folder: string,
  { segments, overshadowedIds, saysOvershadowed, sizeBytes }: StagedSegments,
  unusedIds: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<RemainingSegments> {
  const nowUnused = new Map<string, number>()
  const remaining = { segments, overshadowed: overshadowedIds.size, saysOvershadowed, sizeBytes, nowUnused }
  if (unusedIds.size === 0) return remaining
  const staged = path.join(folder, segmentsFile)
  const rewritten = path.join(folder, 'segments.remaining')
  async function* remainingLines(): AsyncGenerator<string> {
    for await (const line of linesOf(createReadStream(staged))) {
      const { segment } = stagedSegment(line)
      if (!unusedIds.has(segment.id)) {
        yield `${line}\n`
        continue
      }
      nowUnused.set(segment.dataSource, (nowUnused.get(segment.dataSource) ?? 0) + 1)
      remaining.segments -= 1
      if (overshadowedIds.has(segment.id)) remaining.overshadowed -= 1
      else remaining.sizeBytes -= segment.sizeBytes
    }
  }
  await pipeline(remainingLines(), createWriteStream(rewritten), { signal })
  await rename(rewritten, staged)
  return remaining
}

/** The ids of the segments in the lines that were written. */
async function readIds(file: string): Promise<string[]> {
  const ids: string[] = []
  for await (const line of linesOf(createReadStream(file))) {
    // Copies the string: a concatenated one would keep all its parts in memory.
    ids.push(Buffer.from(stagedSegment(line).segment.id).toString())
  }
  return ids
}

function stagedSegment(line: string): SnapshotSegment {
  const read = readSegmentRow(JSON.parse(line))
  if ('problem' in read) throw new Error(`Invalid row in the staged segments: ${read.problem}`)
  return read
}
