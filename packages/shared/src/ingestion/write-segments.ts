import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure, invalidInput } from '@svc/domain/failure'
import type { SegmentColumn } from '@svc/domain/segment'
import { bucketOf, type Interval } from '@svc/domain/time'
import { type DeepStorage, segmentPath } from '../deep-storage/index.ts'
import { identifier, instantLiteral, literal } from '../duckdb/index.ts'
import type { Engine } from './engine.ts'
import { bucketStartSql } from './granularity-sql.ts'
import { columnsOf } from './parquet-columns.ts'
import { isStored, type RowsPlan, rowsTable, storedColumns } from './read-rows.ts'
import { segmentFormatSql } from './segment-metadata.ts'

/** A segment file in deep storage that is not yet published. */
export interface WrittenSegment {
  readonly interval: Interval
  /** Relative to the root of deep storage. */
  readonly path: string
  readonly checksum: string
  readonly sizeBytes: number
  readonly totalRows: number
  readonly dimensions: readonly string[]
  readonly metrics: readonly string[]
  /** All columns of the file except the time; undefined if there is no file. */
  readonly columns?: readonly SegmentColumn[] | undefined
}

export interface WriteOptions {
  readonly engine: Engine
  readonly deepStorage: DeepStorage
  readonly directory: string
  readonly pathPrefix: string
  /** Called once before the first segment and after each segment. */
  onWritten(done: number, all: number, rows: number): void
}

interface Chunk {
  readonly interval: Interval
  /** SQL that is true for its rows. */
  readonly rows: string
  readonly totalRows: number
  /** Its index among the chunks of its interval. */
  readonly partition: number
}

const maxBuckets = 100_000
const pushesAtOnce = 4

async function planChunks(plan: RowsPlan, engine: Engine): Promise<Chunk[]> {
  const { segmentGranularity, maxRowsPerSegment } = plan.spec
  const bucket = bucketStartSql(segmentGranularity, '__time') ?? "'all'"
  const buckets = await engine.rows(
    `SELECT epoch_ms(min(__time)) AS first, count(*) AS n FROM ${rowsTable} WHERE ${isStored}
     GROUP BY ${bucket} ORDER BY 1 LIMIT ${maxBuckets + 1}`,
  )
  if (buckets.length > maxBuckets) {
    throw invalidInput(
      `Invalid value [${segmentGranularity}] for [spec.dataSchema.granularitySpec.segmentGranularity]: expected a granularity that divides the input into at most [${maxBuckets}] intervals`,
      { field: 'spec.dataSchema.granularitySpec.segmentGranularity' },
    )
  }
  const chunks: Chunk[] = []
  let offset = 0
  for (const row of buckets) {
    const interval = bucketOf(segmentGranularity, Number(row.first))
    const bounds = [isStored]
    if (Number.isFinite(interval.start)) bounds.push(`__time >= ${instantLiteral(interval.start)}`)
    if (Number.isFinite(interval.end)) bounds.push(`__time < ${instantLiteral(interval.end)}`)
    const total = Number(row.n)
    const partitions = Math.ceil(total / maxRowsPerSegment)
    // Partitions have equal sizes. Rows are sorted, so each partition covers a different time range.
    for (let partition = 0; partition < partitions; partition++) {
      const from = Math.floor((total * partition) / partitions)
      const to = Math.floor((total * (partition + 1)) / partitions)
      const part = partitions === 1 ? [] : [`rowid >= ${offset + from}`, `rowid < ${offset + to}`]
      chunks.push({ interval, rows: [...bounds, ...part].join(' AND '), totalRows: to - from, partition })
    }
    offset += total
  }
  return chunks
}

/**
 * Writes the rows table as Parquet files and pushes them to deep storage: one file per bucket of the segment
 * granularity, or several if a bucket has more rows than a segment may have. If it fails, it removes the pushed files.
 */
export async function writeSegments(plan: RowsPlan, options: WriteOptions): Promise<WrittenSegment[]> {
  const { engine, deepStorage, directory } = options
  const { dataSource, metrics, rollup, queryGranularity } = plan.spec
  const format = segmentFormatSql({
    rollup,
    queryGranularity,
    metrics: metrics.map(({ type, name, fieldName }) =>
      type === 'count' ? { type, name } : { type, name, fieldName },
    ),
  })
  const columns = [
    '__time',
    ...storedColumns(plan).map(({ short, name }) => `${short} AS ${identifier(name)}`),
  ]
  const named = {
    dimensions: plan.dimensions.map(({ name }) => name),
    metrics: metrics.map(({ name }) => name),
  }
  const chunks = await planChunks(plan, engine)
  await mkdir(directory, { recursive: true })
  let done = 0
  let rows = 0
  let written: readonly SegmentColumn[] | undefined
  options.onWritten(done, chunks.length, rows)

  async function write(chunk: Chunk, file: string): Promise<void> {
    const [answer] = await engine.rows(
      `COPY (SELECT ${columns.join(', ')} FROM ${rowsTable} WHERE ${chunk.rows})
       TO ${literal(file)} (${format})`,
    )
    // All files have the same columns.
    written ??= await columnsOf(engine, file)
    if (Number(answer?.Count) === chunk.totalRows) return
    throw new Failure(
      'internalServerError',
      `Wrote [${answer?.Count}] rows to a segment: expected [${chunk.totalRows}]`,
    )
  }

  async function push(chunk: Chunk, file: string): Promise<WrittenSegment> {
    const { interval, totalRows, partition } = chunk
    const path = segmentPath({ dataSource, interval, partition, pathPrefix: options.pathPrefix })
    const stored = await deepStorage.push(file, path)
    await rm(file)
    done += 1
    rows += totalRows
    options.onWritten(done, chunks.length, rows)
    return { interval, ...stored, totalRows, ...named, columns: written }
  }

  const pushes: Promise<WrittenSegment>[] = []
  try {
    for (const [index, chunk] of chunks.entries()) {
      // Write a file while earlier ones are being pushed.
      await pushes[index - pushesAtOnce]
      const file = join(directory, `${index}.parquet`)
      await write(chunk, file)
      const pushed = push(chunk, file)
      pushed.catch(() => {})
      pushes.push(pushed)
    }
    return await Promise.all(pushes)
  } catch (error) {
    for (const outcome of await Promise.allSettled(pushes)) {
      if (outcome.status === 'fulfilled') await removeQuietly(deepStorage, outcome.value)
    }
    throw error
  }
}

async function removeQuietly(deepStorage: DeepStorage, { path, checksum }: WrittenSegment): Promise<void> {
  await deepStorage.remove({ type: deepStorage.type, path, checksum }).catch(() => {})
}
