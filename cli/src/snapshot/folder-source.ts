import { createReadStream, existsSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describeError, type Failure, invalidInput } from '@svc/domain/failure'
import { snapshotFiles, snapshotManifestFile } from '@svc/domain/snapshot'
import { linesOf } from '@svc/shared/wire'
import { withoutLogin } from '../client/index.ts'
import { elementsOf } from './json-list.ts'
import { checkSnapshotManifest } from './snapshot-manifest.ts'
import {
  documents,
  placementFile,
  restrictedPartFiles,
  type Seen,
  type SegmentRow,
  type ServedSegments,
  type SnapshotSource,
  unusedSegmentsFile,
} from './snapshot-source.ts'

const filesOfSnapshot = [
  ...Object.values(documents).map(({ file }) => file),
  ...Object.values(restrictedPartFiles),
  placementFile,
  unusedSegmentsFile,
  snapshotFiles.segments,
  snapshotFiles.segmentList,
]

// No exported segment is this long.
const maxRowLength = 8 * 1024 * 1024

/** A folder with the documents of a snapshot, and `segments.jsonl` (one segment per line) or `segments.json` (a list). */
export function openFolder(folder: string): SnapshotSource {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw invalidInput(
      `Folder [${withoutLogin(folder)}] does not exist. If you meant the URL of a cluster, add http:// or https://.`,
    )
  }
  const lines = path.join(folder, snapshotFiles.segments)
  const list = path.join(folder, snapshotFiles.segmentList)
  if (!existsSync(lines) && !existsSync(list)) {
    throw invalidInput(
      `Folder [${folder}] has neither [segments.jsonl] nor [segments.json]: expected a folder written by ./svc export`,
    )
  }
  return {
    name: folder,
    check: async () =>
      (await checkSnapshotManifest(folder, filesOfSnapshot))
        ? []
        : [
            `Folder [${folder}] has no [${snapshotManifestFile}], which ./svc export writes last, so svc cannot check that the export is complete`,
          ],
    document: async (name) => {
      const { file, needed } = documents[name]
      const full = path.join(folder, file)
      if (!existsSync(full)) {
        if (needed) throw invalidInput(`Folder [${folder}] has no file [${file}]`)
        return undefined
      }
      return await readJsonFile(full)
    },
    restrictedPart: async (name) => {
      const full = path.join(folder, restrictedPartFiles[name])
      return existsSync(full)
        ? { value: await readJsonFile(full) }
        : missing(folder, restrictedPartFiles[name])
    },
    placement: async () => seeRows(folder, placementFile, servedSegmentsOf),
    unusedSegments: async () => seeRows(folder, unusedSegmentsFile, (rows) => rows),
    segments: () => (existsSync(lines) ? rowsOf(lines) : elementsOf(createReadStream(list), list)),
  }
}

const missing = (folder: string, file: string) => ({ unseen: `Folder [${folder}] has no [${file}]` })

function seeRows<Row>(
  folder: string,
  file: string,
  read: (rows: AsyncIterable<SegmentRow>) => AsyncIterable<Row>,
): Seen<AsyncIterable<Row>> {
  const full = path.join(folder, file)
  return existsSync(full) ? { value: read(rowsOf(full)) } : missing(folder, file)
}

async function* servedSegmentsOf(rows: AsyncIterable<SegmentRow>): AsyncGenerator<ServedSegments> {
  for await (const { row, value } of rows) {
    const { server, segments } = (value ?? {}) as Partial<ServedSegments>
    if (typeof server !== 'string' || !Array.isArray(segments))
      throw invalidInput(`Invalid row [${row}] in [${placementFile}]: expected a server and its segments`)
    yield { server, segments: segments.map(String) }
  }
}

async function readJsonFile(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw unreadable(file, error)
  })
  try {
    return JSON.parse(withoutMark(text)) as unknown
  } catch (error) {
    throw invalidInput(`Invalid file [${file}]: expected JSON (${describeError(error)})`)
  }
}

/** Some programs write a byte order mark at the beginning of UTF-8 text. */
const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '')

const unreadable = (file: string, error: unknown): Failure =>
  invalidInput(`Failed to read file [${file}]: ${describeError(error)}`)

async function* linesOfFile(file: string): AsyncGenerator<string> {
  try {
    yield* linesOf(createReadStream(file), maxRowLength)
  } catch (error) {
    throw unreadable(file, error)
  }
}

async function* rowsOf(file: string): AsyncIterable<SegmentRow> {
  let row = 0
  for await (const line of linesOfFile(file)) {
    row += 1
    if (line.trim() === '') continue
    let value: unknown
    try {
      value = JSON.parse(row === 1 ? withoutMark(line) : line)
    } catch {
      yield { row, problem: 'Invalid JSON' }
      continue
    }
    yield { row, value }
  }
}
