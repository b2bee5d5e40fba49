import { spawn } from 'node:child_process'
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { unavailable } from '@svc/domain/failure'
import { connectToCluster } from '../client/index.ts'
import { pickPortOffset, startCluster } from '../cluster/index.ts'
import { repositoryRoot } from '../home/index.ts'
import { isLoaded } from '../simulate/index.ts'
import { describeMachine } from './figures.ts'

/** One import, or one that is refused. */
interface ImportFigures {
  readonly rows: string
  readonly seconds: number
  /** The most memory that the process of the command held, in MiB; Postgres is beside it. */
  readonly peakMiB: number
  /** Lines of progress that were told. */
  readonly toldLines: number
  /** From the start of the home's cluster until every copy is in place, and a first preview of rules over it. */
  readonly rehearsal?: { readonly loadedSeconds: number; readonly previewMs: number }
}

/** What the benchmark of imports found. */
export interface ImportBenchmark {
  readonly machine: string
  readonly segments: number
  readonly figures: readonly ImportFigures[]
}

const dayMs = 86_400_000
const firstDay = Date.UTC(2000, 0, 1)
const dataSources = 50
const servers = 100
const pollMs = 100
const lookMs = 1000
const otherRules = [{ type: 'loadForever', tieredReplicants: { _default_tier: 1 } }]
/** One of so many rows cannot be read, where some cannot. */
const brokenEvery = 10

/**
 * Imports so many segments from a folder into homes that are removed again: in the order of their ids, in no order, and
 * with rows that cannot be read. The first home's cluster is run until all is loaded. `onStep` is told of each.
 */
export async function benchImport(
  segments: number,
  onStep: (text: string) => void,
): Promise<ImportBenchmark> {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
  try {
    const figures: ImportFigures[] = []
    for (const rows of ['in order', 'in no order', 'one in ten broken'] as const) {
      const source = path.join(folder, rows.replaceAll(' ', '-'))
      await writeSource(source, segments, rows)
      const home = path.join(folder, 'home')
      const run = await importFrom(source, home)
      const isRefused = rows === 'one in ten broken'
      if (run.status !== (isRefused ? 2 : 0) || existsSync(home) === isRefused)
        throw unavailable(
          `The import with rows ${rows} ended with status [${run.status}]:\n${run.told.slice(-2000)}`,
        )
      const toldLines = run.told.trimEnd().split('\n').length
      const rehearsal = rows === 'in order' ? { rehearsal: await rehearse(home) } : {}
      const figure = { rows, seconds: run.seconds, peakMiB: run.peakMiB, toldLines, ...rehearsal }
      figures.push(figure)
      onStep(`${rows}: ${run.seconds.toFixed(1)} s, ${run.peakMiB.toFixed(0)} MiB`)
      for (const made of [source, home]) rmSync(made, { recursive: true, force: true })
    }
    return { machine: describeMachine(), segments, figures }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs the cluster of an imported home until all copies that its rules ask for are there. */
async function rehearse(home: string): Promise<NonNullable<ImportFigures['rehearsal']>> {
  const startedAt = performance.now()
  const cluster = await startCluster({ home, portOffset: await pickPortOffset(), profile: 'secure' })
  try {
    const client = connectToCluster(cluster.home)
    while (!(await isLoaded(client, dataSources))) await new Promise((resolve) => setTimeout(resolve, lookMs))
    const loadedSeconds = (performance.now() - startedAt) / 1000
    const askedAt = performance.now()
    await client.send('POST', '/svc/coordinator/v1/rules/simulate', { rules: {}, defaultRules: otherRules })
    return { loadedSeconds, previewMs: performance.now() - askedAt }
  } finally {
    await cluster.stop()
  }
}

/** A folder as ./svc export writes it, but for the order of its rows. */
async function writeSource(folder: string, segments: number, rows: string): Promise<void> {
  mkdirSync(folder)
  const list = Array.from({ length: servers }, (_, index) => ({
    host: `10.0.0.${index}:8083`,
    tier: '_default_tier',
    type: 'historical',
    priority: 0,
    maxSize: 10 ** 15,
  }))
  writeFileSync(path.join(folder, 'servers.json'), JSON.stringify(list))
  const rules = { _default: [{ type: 'loadForever', tieredReplicants: { _default_tier: 2 } }] }
  writeFileSync(path.join(folder, 'rules.json'), JSON.stringify(rules))
  const order = rows === 'in no order' ? scattered(segments) : (index: number) => index
  function* lines() {
    for (let index = 0; index < segments; index++) {
      const isBroken = rows === 'one in ten broken' && index % brokenEvery === 0
      yield `${JSON.stringify({ ...rowOf(order(index), segments), ...(isBroken ? { size: 'large' } : {}) })}\n`
    }
  }
  await pipeline(Readable.from(lines()), createWriteStream(path.join(folder, 'segments.jsonl')))
}

/** Each of the first `count` numbers once, far from those before it. */
function scattered(count: number): (index: number) => number {
  // A prime, so that its multiples leave every remainder once.
  const step = 7_368_787
  return (index) => (index * step) % count
}

function rowOf(index: number, segments: number): object {
  const ofEach = Math.ceil(segments / dataSources)
  const numberOfIt = index % ofEach
  const start = firstDay + Math.floor(numberOfIt / 2) * dayMs
  return {
    dataSource: `datasource-${String(Math.floor(index / ofEach)).padStart(2, '0')}`,
    interval: `${new Date(start).toISOString()}/${new Date(start + dayMs).toISOString()}`,
    version: '2026-01-01T00:00:00.000Z',
    dimensions: 'channel,page,user,country',
    metrics: 'added,deleted',
    shardSpec: { type: 'numbered', partitionNum: numberOfIt % 2, partitions: 2 },
    size: 500_000_000,
    totalRows: 5_000_000,
  }
}

interface ImportRun {
  readonly status: number | null
  readonly seconds: number
  readonly peakMiB: number
  readonly told: string
}

async function importFrom(source: string, home: string): Promise<ImportRun> {
  const startedAt = performance.now()
  const child = spawn(path.join(repositoryRoot, 'svc'), ['import', '--from', source, '--home', home], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let told = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    told += text
  })
  let peakMiB = 0
  const timer = setInterval(() => {
    peakMiB = Math.max(peakMiB, residentPeakMiB(child.pid))
  }, pollMs)
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (status) =>
        resolve({ status, seconds: (performance.now() - startedAt) / 1000, peakMiB, told }),
      )
    })
  } finally {
    clearInterval(timer)
  }
}

/** The most that a process has held so far; nothing where it has ended. */
function residentPeakMiB(pid: number | undefined): number {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}
