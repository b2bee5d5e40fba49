import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { unavailable } from '@svc/domain/failure'
import { literalList } from '@svc/shared/duckdb'
import { openEngine } from '@svc/shared/ingestion'
import { accessToCluster, type ClusterAccess, connectToCluster } from '../client/index.ts'
import { pickPortOffset, startCluster } from '../cluster/index.ts'
import { homeLayout } from '../home/index.ts'
import { querySql } from '../sql/index.ts'
import { describeMachine, medianOf } from './figures.ts'

/** Milliseconds of one query. */
interface QueryTime {
  readonly firstByteMs: number
  readonly totalMs: number
}

/** One query on the broker, and the same query on the same files with plain DuckDB. */
interface QueryFigures {
  readonly query: string
  /** When the broker does not have the files yet, and, for the first query, no query process either. */
  readonly coldMs: QueryTime | undefined
  /** Medians of the rounds, when the broker has all files. */
  readonly warmMs: QueryTime
  /** Median time to open a database and read all rows of the query from the same files. */
  readonly plainMs: number
}

/** Results of the SQL benchmark. */
export interface SqlBenchmark {
  readonly machine: string
  readonly segments: number
  readonly rows: number
  readonly bytes: number
  readonly queries: readonly QueryFigures[]
}

const dataSource = 'bench'
const rowsPerSegment = 1000
const dayMs = 86_400_000
const timeoutMs = 600_000
const pollMs = 200

const queries = [
  // Two days: the broker does not fetch the files of other days.
  `SELECT count(*) FROM ${dataSource} WHERE __time < TIMESTAMP '2020-01-03'`,
  `SELECT page, count(*), sum(added) FROM ${dataSource} GROUP BY 1 ORDER BY 1`,
  `SELECT * FROM ${dataSource} LIMIT 100000`,
]

/** Ingests daily segments into a temporary cluster and queries them. Calls `onStep` with progress. */
export async function benchSql(
  segments: number,
  rounds: number,
  onStep: (text: string) => void,
): Promise<SqlBenchmark> {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
  const cluster = await startCluster({
    home: path.join(folder, 'home'),
    profile: 'secure',
    portOffset: await pickPortOffset({}),
    set: ['coordinator.svc.coordinator.period=PT0.5S'],
  })
  try {
    const home = homeLayout(path.join(folder, 'home'))
    const client = connectToCluster(home)
    await client.send('POST', '/svc/coordinator/v1/rules/_default', [
      { type: 'loadForever', tieredReplicants: { _default_tier: 1 } },
    ])
    mkdirSync(home.input, { recursive: true })
    writeFileSync(path.join(home.input, 'bench.csv'), csvOf(segments))
    await client.send('POST', '/svc/indexer/v1/task', taskOf(home.input))
    onStep(`Ingesting and loading ${segments} segments of ${rowsPerSegment} rows`)
    const loaded = path.join(home.cache, 'historical-1', 'segments')
    await untilCounted(segments, () => filesBelow(loaded).length)
    const files = filesBelow(loaded)
    const access = accessToCluster(home)
    const figures: QueryFigures[] = []
    for (const [index, query] of queries.entries()) {
      const coldMs = index < 2 ? await timeOfQuery(access, query) : undefined
      const warm: QueryTime[] = []
      const plain: number[] = []
      for (let round = 0; round < rounds; round++) {
        warm.push(await timeOfQuery(access, query))
        plain.push(await timeOfPlainQuery(folder, files, query))
      }
      figures.push({
        query,
        coldMs,
        warmMs: {
          firstByteMs: medianOf(warm.map(({ firstByteMs }) => firstByteMs)),
          totalMs: medianOf(warm.map(({ totalMs }) => totalMs)),
        },
        plainMs: medianOf(plain),
      })
      onStep(query)
    }
    return {
      machine: describeMachine(),
      segments,
      rows: segments * rowsPerSegment,
      bytes: files.reduce((sum, file) => sum + statSync(file).size, 0),
      queries: figures,
    }
  } finally {
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

function csvOf(segments: number): string {
  const lines = ['time,page,added']
  for (let day = 0; day < segments; day++) {
    for (let row = 0; row < rowsPerSegment; row++) {
      const time = new Date(Date.UTC(2020, 0, 1) + day * dayMs + row * 60_000).toISOString()
      lines.push(`${time},page ${(row * 7) % 50},${(day * 31 + row * 17) % 1000}`)
    }
  }
  return lines.join('\n')
}

const taskOf = (baseDir: string): object => ({
  type: 'index_parallel',
  spec: {
    dataSchema: {
      dataSource,
      timestampSpec: { column: 'time', format: 'iso' },
      dimensionsSpec: { dimensions: ['page'] },
      metricsSpec: [{ type: 'longSum', name: 'added', fieldName: 'added' }],
      granularitySpec: { segmentGranularity: 'DAY', queryGranularity: 'NONE', rollup: false },
    },
    ioConfig: {
      type: 'index_parallel',
      inputSource: { type: 'local', baseDir, filter: 'bench.csv' },
      inputFormat: { type: 'csv', findColumnsFromHeader: true },
    },
    tuningConfig: { type: 'index_parallel' },
  },
})

function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => path.join(folder, name, 'segment.parquet'))
  } catch {
    return []
  }
}

async function untilCounted(wanted: number, count: () => number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (count() < wanted) {
    if (performance.now() > deadline) throw unavailable('Timed out while loading the benchmark segments')
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}

async function timeOfQuery(access: ClusterAccess, query: string): Promise<QueryTime> {
  const question = { query, resultFormat: 'arrayLines', header: false, fromDeepStorage: false } as const
  const { requestedAt, body } = await querySql(access, question, new AbortController().signal)
  let firstByteMs = 0
  for await (const _ of body) firstByteMs ||= performance.now() - requestedAt
  return { firstByteMs, totalMs: performance.now() - requestedAt }
}

async function timeOfPlainQuery(folder: string, files: readonly string[], query: string): Promise<number> {
  const startedAt = performance.now()
  const engine = await openEngine({
    directories: [],
    files,
    spillDirectory: folder,
    memoryLimitBytes: 2 ** 30,
    threads: 2,
  })
  try {
    await engine.rows(
      `WITH ${dataSource} AS (SELECT * FROM read_parquet(${literalList(files)}, union_by_name = true)) ${query}`,
    )
    return performance.now() - startedAt
  } finally {
    engine.close()
  }
}
