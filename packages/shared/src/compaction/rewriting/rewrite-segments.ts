import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type CompactionConfig,
  maxRowsPerSegmentOf,
  partitionsOf,
  targetRowsOf,
} from '@svc/domain/compaction'
import { Failure, invalidInput } from '@svc/domain/failure'
import type { MetricSchema, PartitionsSpec } from '@svc/domain/specs'
import type { Interval } from '@svc/domain/time'
import { type DeepStorage, segmentPath } from '../../deep-storage/index.ts'
import { literal } from '../../duckdb/index.ts'
import {
  columnsOf,
  type Engine,
  openEngine,
  openTaskFolder,
  segmentFormatSql,
  type WrittenSegment,
} from '../../ingestion/index.ts'
import { type BucketInput, bucketRowsSql, dimensionAlias, writtenSelect } from './bucket-sql.ts'
import { fetchFiles, type InputFile, inspectFiles, type RewriteSource } from './source-files.ts'
import { type WrittenColumns, type WrittenDimension, writtenColumns } from './written-columns.ts'

export type { RewriteSource } from './source-files.ts'

/** The input of the segments of one interval. */
export interface RewriteOrderBucket {
  readonly interval: Interval
  /** Segments whose rows are read: their IDs and the times to read; undefined reads all rows. */
  readonly rewritten: readonly { readonly id: string; readonly times: readonly Interval[] | undefined }[]
  /** IDs of segments whose files are kept unchanged. */
  readonly kept: readonly string[]
}

/** What to rewrite. */
export interface RewriteOrder {
  readonly config: CompactionConfig
  /** All segments that the buckets reference, newest first. */
  readonly sources: readonly RewriteSource[]
  readonly buckets: readonly RewriteOrderBucket[]
}

/** Progress of a rewrite. */
export interface RewriteProgress {
  readonly phase: 'fetching' | 'rewriting'
  readonly fraction: number
  readonly rowsWritten: number
  readonly segmentsWritten: number
}

/** The written segments, which are not published yet. */
export interface RewriteResult {
  readonly segments: readonly WrittenSegment[]
  /** The columns of the new segments, for their compaction state. */
  readonly dimensions: readonly WrittenDimension[]
  readonly metrics: readonly MetricSchema[]
  readonly rowsRead: number
  readonly rowsWritten: number
}

export interface RewriteOptions {
  /** A separate folder; its content is removed at the end. */
  readonly workDirectory: string
  readonly deepStorage: DeepStorage
  /** Part of every path in deep storage; unique to this task. */
  readonly pathPrefix: string
  readonly memoryLimitBytes: number
  readonly threads: number
  readonly onProgress?: ((progress: RewriteProgress) => void) | undefined
}

const rowsTable = 'work.ready'

/** A part of the rows table that becomes one segment: the SQL condition for its rows. */
interface Part {
  readonly where: string
}

/**
 * Rewrites segments: reads the visible rows of each bucket and writes them as configured, sorted by time and
 * dimensions, into as few Parquet files as the partitionsSpec allows, but at least one. Throws a Failure: invalidInput
 * (files that are damaged or do not match the metadata store), notFound, tooLarge (memory), or unavailable (deep
 * storage, disk). A failure leaves nothing behind in deep storage.
 */
export async function rewriteSegments(order: RewriteOrder, options: RewriteOptions): Promise<RewriteResult> {
  const { sources } = order
  const { deepStorage } = options
  const folder = await openTaskFolder(options.workDirectory)
  const output = createOutput(order.config.dataSource, options)
  try {
    await folder.clear()
    output.report('fetching', 0)
    const paths = await fetchFiles(sources, folder.input, deepStorage, (done) =>
      output.report('fetching', done / sources.length),
    )
    await mkdir(folder.segments, { recursive: true })
    const engine = await openEngine({
      directories: [folder.root],
      files: [],
      spillDirectory: folder.spill,
      memoryLimitBytes: options.memoryLimitBytes,
      threads: options.threads,
    })
    try {
      await engine.run(`ATTACH ${literal(folder.rowsFile)} AS work`)
      const files = await inspectFiles(sources, paths, engine)
      return await writeBuckets(order, files, folder.segments, engine, output)
    } finally {
      engine.close()
    }
  } catch (error) {
    await output.discard()
    throw error
  } finally {
    await folder.clear()
  }
}

/** The segments that a rewrite has pushed so far. */
interface Output {
  readonly segments: readonly WrittenSegment[]
  rowsWritten(): number
  report(phase: RewriteProgress['phase'], fraction: number): void
  /** Moves a file to deep storage. */
  push(file: string, interval: Interval, partition: number, rows: number, named: Named): Promise<void>
  /** Removes what was pushed. */
  discard(): Promise<void>
}

function createOutput(dataSource: string, options: RewriteOptions): Output {
  const { deepStorage, pathPrefix, onProgress } = options
  const segments: WrittenSegment[] = []
  let rowsWritten = 0
  return {
    segments,
    rowsWritten: () => rowsWritten,
    report: (phase, fraction) =>
      onProgress?.({ phase, fraction, rowsWritten, segmentsWritten: segments.length }),
    push: async (file, interval, partition, rows, named) => {
      const path = segmentPath({ dataSource, interval, partition, pathPrefix })
      const stored = await deepStorage.push(file, path)
      await rm(file, { force: true })
      segments.push({ interval, ...stored, totalRows: rows, ...named })
      rowsWritten += rows
    },
    discard: async () => {
      for (const { path, checksum } of segments)
        await deepStorage.remove({ type: deepStorage.type, path, checksum }).catch(() => undefined)
    },
  }
}

/** Writes the segments of all buckets, and pushes them together with the files that are kept. */
async function writeBuckets(
  { config, buckets }: RewriteOrder,
  found: readonly InputFile[],
  folder: string,
  engine: Engine,
  output: Output,
): Promise<RewriteResult> {
  const files = new Map(found.map((file) => [file.source.id, file]))
  const fileOf = (id: string): InputFile => {
    const file = files.get(id)
    if (file === undefined) throw new Error(`Segment [${id}] is not among the sources`)
    return file
  }
  const ids = new Set(buckets.flatMap(({ rewritten }) => rewritten.map(({ id }) => id)))
  const read = [...files.values()].filter(({ source }) => ids.has(source.id))
  const columns = writtenColumns(config, read)
  const named = {
    dimensions: columns.dimensions.map(({ name }) => name),
    metrics: columns.metrics.map(({ name }) => name),
  }
  let writtenAs: WrittenSegment['columns']
  for (const [index, { interval, rewritten, kept }] of buckets.entries()) {
    const inputs = rewritten.map(({ id, times }): BucketInput => ({ file: fileOf(id), times }))
    const written = await writeBucket(engine, inputs, interval, columns, config, folder)
    for (const [partition, { file, rows }] of written.entries()) {
      // All files have the same columns.
      writtenAs ??= await columnsOf(engine, file)
      await output.push(file, interval, partition, rows, { ...named, columns: writtenAs })
    }
    for (const [partition, id] of kept.entries()) {
      const file = fileOf(id)
      const { totalRows } = file.source
      await output.push(file.path, interval, written.length + partition, totalRows, namesOfFile(file))
    }
    output.report('rewriting', (index + 1) / buckets.length)
  }
  return {
    segments: output.segments,
    dimensions: columns.dimensions,
    metrics: columns.metrics,
    rowsRead: read.reduce((sum, { source }) => sum + source.totalRows, 0),
    rowsWritten: output.rowsWritten(),
  }
}

type Named = Pick<WrittenSegment, 'dimensions' | 'metrics' | 'columns'>

// The names are joined with commas again, so they do not need to be split.
const namesOf = (names: string): string[] => (names === '' ? [] : [names])

const namesOfFile = ({ source, columns }: InputFile): Named => ({
  dimensions: namesOf(source.dimensions),
  metrics: namesOf(source.metrics),
  columns: [...columns].map(([name, type]) => ({ name, type })),
})

/** Writes the rows of a bucket to files in a folder. */
async function writeBucket(
  engine: Engine,
  inputs: readonly BucketInput[],
  bucket: Interval,
  columns: WrittenColumns,
  config: CompactionConfig,
  folder: string,
): Promise<{ file: string; rows: number }[]> {
  const partitions = partitionsOf(config)
  const keys = partitions.type === 'dynamic' ? [] : keyAliases(partitions, columns)
  const first = partitions.type === 'range' ? keys : []
  const rowsSql = bucketRowsSql(inputs, bucket, columns, config, first)
  const format = segmentFormatSql({
    rollup: columns.rollup,
    queryGranularity: config.granularitySpec?.queryGranularity ?? 'NONE',
    metrics: columns.metrics,
  })
  const select = writtenSelect(columns)
  const copy = async (from: string, partition: number) => {
    const file = join(folder, `${partition}.parquet`)
    const [answer] = await engine.rows(`COPY (SELECT ${select} FROM ${from}) TO ${literal(file)} (${format})`)
    return { file, rows: Number(answer?.Count) }
  }

  const max = maxRowsPerSegmentOf(partitions)
  const possible = inputs.reduce((sum, { file }) => sum + file.source.totalRows, 0)
  if (max !== undefined && possible <= max) {
    const written = await copy(`(${rowsSql})`, 0)
    assertComplete(inputs, columns, config, written.rows, possible)
    return [written]
  }
  await engine.run(`CREATE OR REPLACE TABLE ${rowsTable} AS ${rowsSql}`)
  const [counted] = await engine.rows(`SELECT count(*) AS n FROM ${rowsTable}`)
  const total = Number(counted?.n)
  assertComplete(inputs, columns, config, total, possible)
  const parts = await planParts(engine, partitions, keys, total)
  const written: { file: string; rows: number }[] = []
  for (const { where } of parts) written.push(await copy(`${rowsTable} WHERE ${where}`, written.length))
  const sum = written.reduce((all, { rows }) => all + rows, 0)
  if (sum !== total) {
    throw new Failure(
      'internalServerError',
      `Expected [${total}] rows after rewriting an interval but found [${sum}]`,
    )
  }
  await engine.run(`DROP TABLE ${rowsTable}`)
  // Empty shards are dropped, but at least one segment must remain for the interval.
  const filled = written.filter(({ rows }) => rows > 0)
  return filled.length > 0 ? filled : written.slice(0, 1)
}

/** If no rows are filtered out or rolled up, the output must have as many rows as the input. */
function assertComplete(
  inputs: readonly BucketInput[],
  { rollup }: WrittenColumns,
  config: CompactionConfig,
  rows: number,
  expected: number,
): void {
  const keepsAll =
    !rollup && !config.transformSpec?.filter && inputs.every(({ times }) => times === undefined)
  if (keepsAll && rows !== expected) {
    throw invalidInput(`Expected [${expected}] rows in the segments but found [${rows}]`)
  }
}

/** Returns the aliases of the dimensions that rows are partitioned by. */
function keyAliases(
  { partitionDimensions }: Pick<Exclude<PartitionsSpec, { type: 'dynamic' }>, 'partitionDimensions'>,
  { dimensions }: WrittenColumns,
): string[] {
  if (partitionDimensions.length === 0) {
    return dimensions.length === 0 ? ['__time'] : dimensions.map((_, index) => dimensionAlias(index))
  }
  return partitionDimensions.map((name) => {
    const index = dimensions.findIndex((dimension) => dimension.name.toLowerCase() === name.toLowerCase())
    if (index >= 0) return dimensionAlias(index)
    throw invalidInput(
      `Invalid value [${name}] for [tuningConfig.partitionsSpec.partitionDimensions]: expected a dimension of the segments`,
      { field: 'tuningConfig.partitionsSpec.partitionDimensions' },
    )
  })
}

async function planParts(
  engine: Engine,
  partitions: PartitionsSpec,
  keys: readonly string[],
  total: number,
): Promise<Part[]> {
  const max = maxRowsPerSegmentOf(partitions)
  if (max !== undefined && total <= max) return [{ where: 'true' }]
  if (partitions.type === 'hashed') {
    const shards = partitions.numShards ?? Math.ceil(total / (max ?? total))
    return Array.from({ length: shards }, (_, shard) => ({
      where: `hash(${keys.join(', ')}) % ${shards} = ${shard}`,
    }))
  }
  if (partitions.type === 'range') return await rangeParts(engine, partitions, keys, total)
  // Parts of equal size; since rows are sorted by time, each part covers a separate time range.
  const count = Math.ceil(total / (max ?? total))
  const starts = Array.from({ length: count }, (_, part) => Math.floor((total * part) / count))
  return betweenRows(starts, total)
}

/** Starts a new part at the first change of the keys after enough rows. */
async function rangeParts(
  engine: Engine,
  partitions: Extract<PartitionsSpec, { type: 'range' }>,
  keys: readonly string[],
  total: number,
): Promise<Part[]> {
  const target = targetRowsOf(partitions)
  const rows = await engine.rows(
    `SELECT min(start) AS start FROM (SELECT min(rowid) AS start FROM ${rowsTable} GROUP BY ${keys.join(', ')})
     GROUP BY start // ${target} ORDER BY 1`,
  )
  return betweenRows(
    rows.map(({ start }) => Number(start)),
    total,
  )
}

const betweenRows = (starts: readonly number[], total: number): Part[] =>
  starts.map((start, index) => ({ where: `rowid >= ${start} AND rowid < ${starts[index + 1] ?? total}` }))
