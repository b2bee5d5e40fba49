import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { parseCompactionConfig } from '@svc/domain/compaction'
import { type RewriteOrder, type RewriteSource, rewriteSegments } from '@svc/shared/compaction/rewriting'
import { createLocalDeepStorage } from '@svc/shared/deep-storage'
import { literal, literalList } from '@svc/shared/duckdb'
import { type Engine, openEngine, segmentFormatSql } from '@svc/shared/ingestion'
import { describeMachine, medianOf } from './figures.ts'

/** Medians of one kind of rewriting, and of plain DuckDB doing the same with the same files. */
interface RewritingFigures {
  readonly kind: 'without rollup' | 'with rollup'
  readonly seconds: number
  readonly megabytesPerSecond: number
  readonly rowsPerSecond: number
  readonly plainSeconds: number
  /** How many times as long as plain DuckDB. */
  readonly ratio: number
}

/** Results of the rewriting benchmark. */
export interface RewritingBenchmark {
  readonly machine: string
  readonly rows: number
  readonly bytes: number
  readonly files: number
  readonly threads: number
  readonly rounds: number
  readonly figures: readonly RewritingFigures[]
}

const days = 30
const dayMs = 86_400_000
const first = Date.UTC(2026, 5, 1)
const month = { start: first, end: first + days * dayMs }
const memoryLimitBytes = 2 ** 30
const threads = Math.min(2, availableParallelism())
const columns = 'page, who, added'
const kinds = [
  { kind: 'without rollup', rollup: false },
  { kind: 'with rollup', rollup: true },
] as const

/**
 * Rewrites daily segments into one month, alternating with plain DuckDB. A rewriting also fetches and checks the files,
 * and stores its result. Calls `onStep` with progress.
 */
export async function benchRewriting(
  rows: number,
  rounds: number,
  onStep: (text: string) => void,
): Promise<RewritingBenchmark> {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
  try {
    const storage = path.join(folder, 'storage')
    mkdirSync(storage)
    const sources = await writeDays(folder, storage, rows)
    const bytes = sources.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    onStep(`Wrote ${rows} rows in ${days} files (${Math.round(bytes / 1e6)} MB)`)
    const figures: RewritingFigures[] = []
    for (const { kind, rollup } of kinds) {
      const own: number[] = []
      const plain: number[] = []
      for (let round = 0; round < rounds; round++) {
        own.push(await secondsOf(() => rewrite(folder, storage, sources, rollup)))
        plain.push(await secondsOf(() => rewritePlainly(folder, storage, sources, rollup)))
        onStep(`${kind}: ${own.at(-1)?.toFixed(2)} s, plain DuckDB ${plain.at(-1)?.toFixed(2)} s`)
      }
      const seconds = medianOf(own)
      figures.push({
        kind,
        seconds,
        megabytesPerSecond: bytes / 1e6 / seconds,
        rowsPerSecond: Math.round(rows / seconds),
        plainSeconds: medianOf(plain),
        ratio: seconds / medianOf(plain),
      })
    }
    return { machine: describeMachine(), rows, bytes, files: days, threads, rounds, figures }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function secondsOf(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return (performance.now() - startedAt) / 1000
}

async function withEngine(folder: string, work: (engine: Engine) => Promise<void>): Promise<void> {
  const spillDirectory = path.join(folder, 'spill')
  const engine = await openEngine({
    directories: [folder],
    files: [],
    spillDirectory,
    memoryLimitBytes,
    threads,
  })
  try {
    await work(engine)
  } finally {
    engine.close()
  }
}

const formatOf = (rollup: boolean): string =>
  segmentFormatSql({
    rollup,
    queryGranularity: 'NONE',
    metrics: [{ type: 'longSum', name: 'added', fieldName: 'added' }],
  })

/** Writes daily segments like ingestion: sorted, with few pages and many people. */
async function writeDays(folder: string, storage: string, rows: number): Promise<RewriteSource[]> {
  const ofDay = Math.ceil(rows / days)
  const sources: RewriteSource[] = []
  await withEngine(folder, async (engine) => {
    for (let day = 0; day < days; day++) {
      const name = `${day}.parquet`
      const file = path.join(storage, name)
      const totalRows = Math.min(ofDay, rows - day * ofDay)
      await engine.run(`COPY (
        SELECT epoch_ms((${first + day * dayMs} + (hash(n) % 1440) * 60000)::BIGINT)::TIMESTAMP_MS AS __time,
          'page ' || hash(n, 1) % 1000 AS page, 'person ' || hash(n, 2) % 100000 AS who, (hash(n, 3) % 1000)::BIGINT AS added
        FROM range(${totalRows}) r(n) ORDER BY 1, 2, 3
      ) TO ${literal(file)} (${formatOf(false)})`)
      sources.push({
        id: name,
        loadSpec: {
          type: 'local',
          path: name,
          checksum: `sha256:${createHash('sha256').update(readFileSync(file)).digest('hex')}`,
        },
        sizeBytes: statSync(file).size,
        totalRows,
        dimensions: 'page,who',
        metrics: 'added',
      })
    }
  })
  return sources
}

async function rewrite(
  folder: string,
  storage: string,
  sources: readonly RewriteSource[],
  rollup: boolean,
): Promise<void> {
  const deepStorage = createLocalDeepStorage({ rootDirectory: storage })
  const config = parseCompactionConfig({
    dataSource: 'bench',
    maxRowsPerSegment: 2_000_000_000,
    granularitySpec: { segmentGranularity: 'MONTH', rollup },
  })
  const rewritten = sources.map(({ id }) => ({ id, times: undefined }))
  const order: RewriteOrder = { config, sources, buckets: [{ interval: month, rewritten, kept: [] }] }
  const workDirectory = path.join(folder, 'work')
  const { segments } = await rewriteSegments(order, {
    workDirectory,
    deepStorage,
    pathPrefix: 'bench',
    memoryLimitBytes,
    threads,
  })
  for (const { path: file, checksum } of segments)
    await deepStorage.remove({ type: 'local', path: file, checksum })
}

async function rewritePlainly(
  folder: string,
  storage: string,
  sources: readonly RewriteSource[],
  rollup: boolean,
): Promise<void> {
  const files = literalList(sources.map(({ loadSpec }) => path.join(storage, loadSpec.path)))
  const target = path.join(folder, 'plain.parquet')
  const select = rollup
    ? `SELECT __time, page, who, sum(added)::BIGINT AS added FROM read_parquet(${files}) GROUP BY ALL`
    : `SELECT __time, ${columns} FROM read_parquet(${files})`
  await withEngine(folder, (engine) =>
    engine.run(`COPY (${select} ORDER BY __time, page, who) TO ${literal(target)} (${formatOf(rollup)})`),
  )
  rmSync(target)
}
