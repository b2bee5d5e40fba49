import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { invalidInput } from '@svc/domain/failure'
import type { LoadSpec } from '@svc/domain/segment'
import type { DeepStorage } from '../../deep-storage/index.ts'
import { literalList } from '../../duckdb/index.ts'
import {
  type Engine,
  type SegmentMetadata,
  type StoredType,
  segmentMetadataKey,
  typeOfColumn,
} from '../../ingestion/index.ts'

/** A segment to read or keep, as recorded in the metadata store. */
export interface RewriteSource {
  readonly id: string
  readonly loadSpec: LoadSpec
  readonly sizeBytes: number
  readonly totalRows: number
  /** Comma-separated names of its dimensions. */
  readonly dimensions: string
  readonly metrics: string
}

/** A fetched segment file that matches the metadata store. */
export interface InputFile {
  readonly path: string
  readonly source: RewriteSource
  /** Types by name of all columns except the time, in order. */
  readonly columns: ReadonlyMap<string, StoredType>
  /** Metadata in the file about how it was created; undefined if there is none. */
  readonly metadata: SegmentMetadata | undefined
}

const fetchesAtOnce = 4

/** Fetches the files of segments into a folder, and verifies their sizes and checksums. */
export async function fetchFiles(
  sources: readonly RewriteSource[],
  folder: string,
  deepStorage: DeepStorage,
  onFetched: (done: number) => void,
): Promise<ReadonlyMap<string, string>> {
  await mkdir(folder, { recursive: true })
  const paths = new Map(sources.map(({ id }, index) => [id, join(folder, `${index}.parquet`)]))
  const queue = sources.values()
  let done = 0
  const worker = async (): Promise<void> => {
    for (const { id, loadSpec, sizeBytes } of queue) {
      await deepStorage.fetch(loadSpec, sizeBytes, paths.get(id) as string)
      done += 1
      onFetched(done)
    }
  }
  const outcomes = await Promise.allSettled(Array.from({ length: fetchesAtOnce }, worker))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  return paths
}

/**
 * Inspects the files. Throws an invalidInput Failure that names the segment if a file does not match the metadata
 * store.
 */
export async function inspectFiles(
  sources: readonly RewriteSource[],
  paths: ReadonlyMap<string, string>,
  engine: Engine,
): Promise<InputFile[]> {
  if (sources.length === 0) return []
  const files = literalList(sources.map(({ id }) => paths.get(id) as string))
  const rows = new Map<unknown, number>()
  for (const row of await engine.rows(`SELECT file_name, num_rows FROM parquet_file_metadata(${files})`)) {
    rows.set(row.file_name, Number(row.num_rows))
  }
  const schemas = Map.groupBy(
    await engine.rows(
      `SELECT file_name, name, type, num_children, duckdb_type FROM parquet_schema(${files})`,
    ),
    ({ file_name }) => file_name,
  )
  const notes = new Map<unknown, SegmentMetadata>()
  for (const row of await engine.rows(
    `SELECT file_name, decode(value) AS value FROM parquet_kv_metadata(${files})
     WHERE key = '${segmentMetadataKey}'::BLOB`,
  )) {
    notes.set(row.file_name, JSON.parse(String(row.value)) as SegmentMetadata)
  }
  return sources.map((source) => {
    const path = paths.get(source.id) as string
    const wrong = (problem: string) =>
      invalidInput(`The file of segment [${source.id}] ${problem}`, { segment: source.id })
    if (rows.get(path) !== source.totalRows) {
      throw wrong(`has [${rows.get(path)}] rows, but the metadata store lists [${source.totalRows}]`)
    }
    // The first row is the schema itself.
    const [, time, ...others] = schemas.get(path) ?? []
    if (time?.name !== '__time' || !String(time.duckdb_type).startsWith('TIMESTAMP')) {
      throw wrong('does not have the timestamp column [__time] as its first column')
    }
    const columns = new Map<string, StoredType>()
    for (const { name, duckdb_type } of others) {
      const type = typeOfColumn(String(duckdb_type))
      if (type === undefined) throw wrong(`has a column [${name}] of unsupported type [${duckdb_type}]`)
      columns.set(String(name), type)
    }
    const said = [source.dimensions, source.metrics].filter((names) => names !== '').join(',')
    const found = [...columns.keys()].join(',')
    if (found !== said) throw wrong(`has the columns [${found}], but the metadata store lists [${said}]`)
    return { path, source, columns, metadata: notes.get(path) }
  })
}
