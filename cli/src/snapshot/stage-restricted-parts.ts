import { createWriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { formatSegmentRow, readSegmentRow } from '@svc/domain/snapshot'
import { withExactLimits } from '@svc/shared/wire'
import {
  parseRestrictedParts,
  type RawRestrictedParts,
  type RestrictedParts,
  readRestrictedParts,
  smallerCounts,
} from './restricted-parts.ts'
import type { SnapshotProblems } from './snapshot-problems.ts'
import {
  placementFile,
  type RestrictedPartName,
  restrictedPartFiles,
  type Seen,
  type SegmentRow,
  type ServedSegments,
  type SnapshotSource,
  unusedSegmentsFile,
} from './snapshot-source.ts'

/** Parts of a snapshot that not every user may read, written to the files of the snapshot. */
export interface StagedRestrictedParts extends RestrictedParts {
  /** Number of replicas on the servers. */
  readonly placement: Seen<number>
  /** Number of unused segments; undefined if they were not requested. */
  readonly unused: Seen<number> | undefined
  /** Empty if they were not requested. */
  readonly unusedIds: ReadonlySet<string>
  readonly files: readonly string[]
}

/** What to read, and how to stop. */
export interface RestrictedPartsOptions {
  readonly unused: boolean
  readonly signal: AbortSignal
}

/** Reads parts that not every user may read, and writes those that can be seen to files. */
export async function stageRestrictedParts(
  source: SnapshotSource,
  folder: string,
  servers: readonly string[],
  problems: SnapshotProblems,
  { unused, signal }: RestrictedPartsOptions,
): Promise<StagedRestrictedParts> {
  const raw = await readRestrictedParts(source)
  signal.throwIfAborted()
  const files: string[] = []
  const stage = async <Row>(
    file: string,
    rows: Seen<AsyncIterable<Row>>,
    linesOf: (rows: AsyncIterable<Row>, counted: (count: number) => void) => AsyncIterable<string>,
  ): Promise<Seen<number>> => {
    if ('unseen' in rows) return rows
    let total = 0
    const counted = (count: number) => {
      total += count
    }
    await pipeline(linesOf(rows.value, counted), createWriteStream(path.join(folder, file)), { signal })
    files.push(file)
    return { value: total }
  }
  const placement = await stage(placementFile, await source.placement(servers), placementLines)
  const counts = smallerCounts(raw.counts, await source.restrictedPart('counts'))
  const unusedIds = new Set<string>()
  const unusedSegments = unused
    ? await stage(unusedSegmentsFile, await source.unusedSegments(), (rows, counted) =>
        unusedLines(rows, unusedIds, counted, problems),
      )
    : undefined
  const found: RawRestrictedParts = { ...raw, counts }
  for (const [name, part] of Object.entries(found) as [RestrictedPartName, Seen<unknown>][]) {
    if ('unseen' in part) continue
    await writeFile(path.join(folder, restrictedPartFiles[name]), `${JSON.stringify(part.value, null, 2)}\n`)
    files.push(restrictedPartFiles[name])
  }
  return { ...parseRestrictedParts(found, problems), placement, unused: unusedSegments, unusedIds, files }
}

async function* placementLines(
  rows: AsyncIterable<ServedSegments>,
  counted: (count: number) => void,
): AsyncGenerator<string> {
  for await (const row of rows) {
    counted(row.segments.length)
    yield `${JSON.stringify(row)}\n`
  }
}

/** An unused segment in a snapshot: its row as for used segments, and when it was marked as unused. */
async function* unusedLines(
  rows: AsyncIterable<SegmentRow>,
  ids: Set<string>,
  counted: (count: number) => void,
  problems: SnapshotProblems,
): AsyncGenerator<string> {
  for await (const { row, value, problem } of rows) {
    const { dataSegment, usedStatusLastUpdatedDate } = (value ?? {}) as Record<string, unknown>
    const read = problem === undefined ? readSegmentRow(dataSegment) : { problem }
    if ('problem' in read) {
      problems.note(`Row [${row}] of the list of unused segments: ${read.problem}`)
      continue
    }
    const { id } = read.segment
    if (ids.has(id)) {
      problems.note(`Row [${row}] of the list of unused segments: duplicate segment [${id}]`)
      continue
    }
    ids.add(id)
    counted(1)
    const line = { dataSegment: formatSegmentRow(read), usedStatusLastUpdatedDate }
    yield `${withExactLimits(JSON.stringify(line))}\n`
  }
}
