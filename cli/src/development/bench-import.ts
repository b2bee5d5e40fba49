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

/** Measurements of one import, successful or rejected. */
interface ImportFigures {
  readonly rows: string
  readonly seconds: number
  /** Peak memory of the command's process in MiB, without Postgres. */
  readonly peakMiB: number
  /** Number of progress lines. */
  readonly progressLines: number
  /** Time from the start of the home's cluster until everything is loaded, and time of a first rules preview. */
  readonly rehearsal?: { readonly loadedSeconds: number; readonly previewMs: number }
}

/** Results of the import benchmark. */
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
const samplePeriodMs = 1000
const otherRules = [{ type: 'loadForever', tieredReplicants: { _default_tier: 1 } }]
/** Every tenth row is invalid, in the case with invalid rows. */
const invalidEvery = 10

/**
 * Imports segments from a folder into temporary homes: sorted by id, unsorted, and with invalid rows. Runs the cluster of
 * the first home until everything is loaded. Calls `onStep` after each case.
 */
export async function benchImport(
  segments: number,
  onStep: (text: string) => void,
): Promise<ImportBenchmark> {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
  try {
    const figures: ImportFigures[] = []
    for (const rows of ['sorted', 'unsorted', 'one in ten invalid'] as const) {
      const source = path.join(folder, rows.replaceAll(' ', '-'))
      await writeSource(source, segments, rows)
      const home = path.join(folder, 'home')
      const run = await importFrom(source, home)
      const isRefused = rows === 'one in ten invalid'
      if (run.status !== (isRefused ? 2 : 0) || existsSync(home) === isRefused)
        throw unavailable(
          `The import of [${rows}] rows exited with status [${run.status}]:\n${run.output.slice(-2000)}`,
        )
      const progressLines = run.output.trimEnd().split('\n').length
      const rehearsal = rows === 'sorted' ? { rehearsal: await rehearse(home) } : {}
      const figure = { rows, seconds: run.seconds, peakMiB: run.peakMiB, progressLines, ...rehearsal }
      figures.push(figure)
      onStep(`${rows}: ${run.seconds.toFixed(1)} s, ${run.peakMiB.toFixed(0)} MiB`)
      for (const created of [source, home]) rmSync(created, { recursive: true, force: true })
    }
    return { machine: describeMachine(), segments, figures }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs the cluster of an imported home until all required segments are loaded. */
async function rehearse(home: string): Promise<NonNullable<ImportFigures['rehearsal']>> {
  const startedAt = performance.now()
  const cluster = await startCluster({ home, portOffset: await pickPortOffset(), profile: 'secure' })
  try {
    const client = connectToCluster(cluster.home)
    while (!(await isLoaded(client, dataSources)))
      await new Promise((resolve) => setTimeout(resolve, samplePeriodMs))
    const loadedSeconds = (performance.now() - startedAt) / 1000
    const requestedAt = performance.now()
    await client.send('POST', '/svc/coordinator/v1/rules/simulate', { rules: {}, defaultRules: otherRules })
    return { loadedSeconds, previewMs: performance.now() - requestedAt }
  } finally {
    await cluster.stop()
  }
}

/** Writes a folder like ./svc export, but with the given order of rows. */
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
  const order = rows === 'unsorted' ? scattered(segments) : (index: number) => index
  function* lines() {
    for (let index = 0; index < segments; index++) {
      const isInvalid = rows === 'one in ten invalid' && index % invalidEvery === 0
      yield `${JSON.stringify({ ...rowOf(order(index), segments), ...(isInvalid ? { size: 'large' } : {}) })}\n`
    }
  }
  await pipeline(Readable.from(lines()), createWriteStream(path.join(folder, 'segments.jsonl')))
}

/** A permutation of the first `count` numbers without neighbors. */
function scattered(count: number): (index: number) => number {
  // A prime, so that its multiples have every remainder once.
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
  readonly output: string
}

async function importFrom(source: string, home: string): Promise<ImportRun> {
  const startedAt = performance.now()
  const child = spawn(path.join(repositoryRoot, 'svc'), ['import', '--from', source, '--home', home], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  let peakMiB = 0
  const timer = setInterval(() => {
    peakMiB = Math.max(peakMiB, residentPeakMiB(child.pid))
  }, pollMs)
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (status) =>
        resolve({ status, seconds: (performance.now() - startedAt) / 1000, peakMiB, output }),
      )
    })
  } finally {
    clearInterval(timer)
  }
}

/** The peak resident memory of a process so far, in MiB; 0 if it has exited. */
function residentPeakMiB(pid: number | undefined): number {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}
