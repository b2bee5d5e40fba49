import { closeSync, createReadStream, createWriteStream, openSync, readSync, statfsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { unavailable } from '@svc/domain/failure'
import { linesOf, withExactLimits } from '@svc/shared/wire'
import { formatSegmentRow, readSegmentRow } from './segment-row.ts'
import type { SnapshotProblems } from './snapshot-problems.ts'
import type { SnapshotSource } from './snapshot-source.ts'

/** The file of a snapshot that holds its segments, one a line. */
export const segmentsFile = 'segments.jsonl'

/** How many segments were written, and how many of them their source counts as overshadowed. */
export interface StagedSegments {
  readonly segments: number
  readonly overshadowed: number
  /** Of those that are not overshadowed. */
  readonly sizeBytes: number
}

/** Where the lines stand that were written, in the order in which they came. */
interface Lines {
  /** Byte positions; one more than lines, so that each ends where the next begins. */
  readonly offsets: number[]
  readonly rows: number[]
  lastId: string | undefined
  overshadowed: number
  sizeBytes: number
  duplicates: number
  isSorted: boolean
}

/**
 * Writes the segments of a source into a folder, in the order of their ids, each once. What cannot be read, or is
 * there again, is noted and left out. Only positions are kept in memory, and ids where they come in another order.
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
    overshadowed: 0,
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
  const { rows, duplicates, overshadowed, sizeBytes } = lines
  return { segments: rows.length - duplicates, overshadowed, sizeBytes }
}

// Text that is written at once.
const chunkLength = 64 * 1024
const progressStep = 10_000
const progressPeriodMs = 5000
// A source that does not end must not fill the disk, on which others may stand too.
const leastFreeBytes = 100 * 1024 * 1024

function checkRoom(folder: string): void {
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize < leastFreeBytes)
    throw unavailable(`The disk of [${folder}] has less than [${leastFreeBytes}] bytes free: make room`)
}

async function* writtenLines(
  source: SnapshotSource,
  lines: Lines,
  problems: SnapshotProblems,
  onProgress: (segments: number) => void,
  folder: string,
): AsyncGenerator<string> {
  let chunk = ''
  let toldAtMs = performance.now()
  for await (const { row, value, problem } of source.segments()) {
    if (row % progressStep === 0 || performance.now() - toldAtMs > progressPeriodMs) {
      toldAtMs = performance.now()
      onProgress(lines.rows.length)
      checkRoom(folder)
    }
    const read = problem === undefined ? readSegmentRow(value) : { problem }
    if ('problem' in read) {
      problems.note(`segments row [${row}]: ${read.problem}`)
      continue
    }
    const line = `${withExactLimits(JSON.stringify(formatSegmentRow(read)))}\n`
    const { id } = read.segment
    if (lines.lastId !== undefined && lines.lastId >= id) lines.isSorted = false
    lines.lastId = id
    if (read.overshadowed) lines.overshadowed += 1
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

/** The lines in the order of their ids; leaves out those whose id is there already. */
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
        problems.note(`segments row [${rows[index]}]: segment [${id}] is there already`)
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

/** The ids of the segments in the lines that were written. */
async function readIds(file: string): Promise<string[]> {
  const ids: string[] = []
  for await (const line of linesOf(createReadStream(file))) {
    const read = readSegmentRow(JSON.parse(line))
    if ('problem' in read) throw new Error(`A row that was written ${read.problem}`)
    // A text of its own: one put together holds on to all that it was made of.
    ids.push(Buffer.from(read.segment.id).toString())
  }
  return ids
}
