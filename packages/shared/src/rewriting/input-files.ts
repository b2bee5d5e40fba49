import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { invalidInput } from '@svc/domain/failure'
import type { LoadSpec } from '@svc/domain/segment'
import type { DeepStorage } from '../deep-storage/index.ts'
import { literalList } from '../duckdb/index.ts'
import {
  type Engine,
  type SegmentMetadata,
  type StoredType,
  segmentMetadataKey,
  typeOfColumn,
} from '../ingestion/index.ts'

/** A segment to read or to take over, as the metadata store knows it. */
export interface RewriteSource {
  readonly id: string
  readonly loadSpec: LoadSpec
  readonly sizeBytes: number
  readonly totalRows: number
  /** Names of its dimensions and of its metrics, separated by commas. */
  readonly dimensions: string
  readonly metrics: string
}

/** A file that was brought here and holds what the metadata store says. */
export interface InputFile {
  readonly path: string
  readonly source: RewriteSource
  /** The types of all columns but the time, by name, in their order. */
  readonly columns: ReadonlyMap<string, StoredType>
  /** What was written into the file of how it came about; undefined of files that say nothing. */
  readonly metadata: SegmentMetadata | undefined
}

const fetchesAtOnce = 4

/** Brings the files of segments into a folder; each is verified by its size and checksum. */
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

/** What the files are; one that is not what the metadata store says is an invalidInput failure that names its segment. */
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
      throw wrong(`has [${rows.get(path)}] rows; the metadata store says [${source.totalRows}]`)
    }
    // The first line is the schema itself.
    const [, time, ...others] = schemas.get(path) ?? []
    if (time?.name !== '__time' || !String(time.duckdb_type).startsWith('TIMESTAMP')) {
      throw wrong('does not begin with a column [__time] of times')
    }
    const columns = new Map<string, StoredType>()
    for (const { name, duckdb_type } of others) {
      const type = typeOfColumn(String(duckdb_type))
      if (type === undefined)
        throw wrong(`has the column [${name}] of type [${duckdb_type}], which no segment has`)
      columns.set(String(name), type)
    }
    const said = [source.dimensions, source.metrics].filter((names) => names !== '').join(',')
    const found = [...columns.keys()].join(',')
    if (found !== said) throw wrong(`has the columns [${found}]; the metadata store says [${said}]`)
    return { path, source, columns, metadata: notes.get(path) }
  })
}
