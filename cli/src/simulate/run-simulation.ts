import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { conflict, unavailable } from '@svc/domain/failure'
import { loadSettings } from '@svc/shared/config'
import { copyManySegments, createDatabase } from '@svc/shared/postgres'
import { type ClusterClient, connectToCluster } from '../client/index.ts'
import {
  type Cluster,
  commonPropertiesFile,
  pickPortOffset,
  runtimePropertiesFile,
  startCluster,
} from '../cluster/index.ts'
import { type HomeLayout, homeLayout, isHome, openHome, processesOf } from '../home/index.ts'
import { isRunning } from '../processes/index.ts'
import { formatSeconds } from '../terminal/index.ts'
import { killLeader, type Takeover } from './kill-leader.ts'
import { type SimulationSize, virtualSegmentSizeBytes, virtualSegments } from './virtual-segments.ts'

/** What is simulated and how it is ended. */
export interface SimulationOptions extends SimulationSize {
  readonly servers: number
  /** How fast each server loads, such as `1GiB`. */
  readonly loadBytesPerSecond: string
  readonly failureProbability: number
  /** Must not be there yet, and is kept afterwards as one of virtual servers; a temporary one when left out. */
  readonly home?: string | undefined
  readonly portOffset?: string | undefined
  /** Whether there are two coordinators, of which the one that leads is killed when everything is loaded. */
  readonly killLeader: boolean
  readonly signal: AbortSignal
  readonly out: { write(text: string): unknown }
}

/** What a simulation took. */
export interface SimulationFigures extends SimulationSize {
  readonly servers: number
  /** To write the segments into the metadata store. */
  readonly copySeconds: number
  /** From then until every segment was served. */
  readonly loadSeconds: number
  /** Of requests for the leader, sent one after the other all that time. */
  readonly requestMs: { readonly median: number; readonly p99: number; readonly longest: number }
  /** Of a preview of other default rules over all that was loaded: the first one, and the same again. */
  readonly previewMs: { readonly first: number; readonly again: number }
  /** How another coordinator took over, where the leading one was killed. */
  readonly takeover?: Takeover
  /** Peak resident memory by process. */
  readonly peakMiB: Readonly<Record<string, number>>
}

const lookPeriodMs = 2000
const probePeriodMs = 50

/**
 * Starts a cluster whose historicals are virtual, gives it virtual segments, and tells how they are loaded until all
 * are. Whether it comes to its end or not, nothing of it runs any more when it returns or throws.
 */
export async function runSimulation(options: SimulationOptions): Promise<SimulationFigures> {
  const { out, servers, segments, signal } = options
  if (options.home !== undefined && isHome(homeLayout(options.home)))
    throw conflict(
      `Home [${options.home}] is there already: a simulation makes a new one; one that was made so is started by ./svc up --home`,
    )
  const root = options.home ?? mkdtempSync(path.join(tmpdir(), 'svc-simulation-'))
  const remove = () => {
    if (options.home === undefined) rmSync(root, { recursive: true, force: true, maxRetries: 3 })
  }
  process.once('exit', remove)
  const size = Math.ceil((2 * segments * virtualSegmentSizeBytes) / servers) + 10 * virtualSegmentSizeBytes
  const groups = [
    {
      count: servers,
      size,
      loadBytesPerSecond: options.loadBytesPerSecond,
      failureProbability: options.failureProbability,
    },
  ]
  writeFileSync(openHome(root).virtualServers, `${JSON.stringify(groups)}\n`, { mode: 0o600 })
  const cluster = await startCluster({
    home: root,
    isNewHome: true,
    portOffset: options.portOffset ?? (await pickPortOffset()),
    profile: 'secure',
    ...(options.killLeader ? { instances: 'coordinator=2' } : {}),
    set: ['coordinator.svc.coordinator.period=PT2S'],
    signal,
    onStep: (step) => out.write(`${step}\n`),
    onEnd: ({ instance, reason }) => out.write(`${instance} exited (${reason}); restarting\n`),
  })
  try {
    return await live(cluster, options)
  } finally {
    await cluster.stop()
    remove()
    process.removeListener('exit', remove)
  }
}

async function live(cluster: Cluster, options: SimulationOptions): Promise<SimulationFigures> {
  const { out, servers, segments, datasources, signal } = options
  const client = connectToCluster(cluster.home)
  await client.send('POST', '/svc/coordinator/v1/rules/_default', [
    { type: 'loadForever', tieredReplicants: { _default_tier: 1 } },
  ])
  const copySeconds = await writeSegments(cluster.home, options)
  out.write(`${segments} segments of ${datasources} datasources written in ${copySeconds.toFixed(1)} s\n`)
  const startedAt = performance.now()
  const probe = startProbe(client)
  const peaks = new Map<string, number>()
  try {
    for (;;) {
      if (signal.aborted) throw unavailable('The simulation was stopped')
      notePeaks(cluster.home, peaks)
      const known = (await client.send('GET', '/svc/coordinator/v1/servers?simple')) as {
        type: string
        currSize: number
      }[]
      const historicals = known.filter(({ type }) => type === 'historical')
      const loaded = Math.round(
        historicals.reduce((sum, { currSize }) => sum + currSize, 0) / virtualSegmentSizeBytes,
      )
      out.write(
        `${formatSeconds(performance.now() - startedAt).padStart(8)}  ${historicals.length} servers  ${loaded} copies  ${((100 * loaded) / segments).toFixed(1)} %\n`,
      )
      if (loaded >= segments && (await isLoaded(client, datasources))) break
      await delay(lookPeriodMs)
    }
  } finally {
    await probe.stop()
  }
  const loadSeconds = (performance.now() - startedAt) / 1000
  const previewMs = { first: await timePreview(client), again: await timePreview(client) }
  notePeaks(cluster.home, peaks)
  const takeover = options.killLeader
    ? await killLeader(cluster.home, () => isLoaded(client, datasources), signal)
    : undefined
  notePeaks(cluster.home, peaks)
  return {
    servers,
    segments,
    datasources,
    copySeconds,
    loadSeconds,
    requestMs: probe.figures(),
    previewMs,
    ...(takeover ? { takeover } : {}),
    peakMiB: Object.fromEntries(peaks),
  }
}

async function writeSegments(
  home: HomeLayout,
  { segments, datasources }: SimulationOptions,
): Promise<number> {
  const files = [commonPropertiesFile(home), runtimePropertiesFile(home, 'coordinator')]
  const database = createDatabase(loadSettings('coordinator', files, {}), {
    connections: 1,
    applicationName: 'svc simulate',
  })
  const startedAt = performance.now()
  try {
    const now = Date.now()
    await copyManySegments(database, virtualSegments({ segments, datasources }, now), now)
  } finally {
    await database.close()
  }
  return (performance.now() - startedAt) / 1000
}

/** Whether all copies that rules ask for are in place, of so many datasources. */
export async function isLoaded(client: ClusterClient, datasources: number): Promise<boolean> {
  const status = (await client.send('GET', '/svc/coordinator/v1/loadstatus?simple')) as Record<string, number>
  return Object.keys(status).length === datasources && Object.values(status).every((left) => left === 0)
}

/** How long a preview takes that keeps the last year twice and gives up what is older. */
async function timePreview(client: ClusterClient): Promise<number> {
  const startedAt = performance.now()
  await client.send('POST', '/svc/coordinator/v1/rules/simulate', {
    rules: {},
    defaultRules: [
      { type: 'loadByPeriod', period: 'P1Y', tieredReplicants: { _default_tier: 2 } },
      { type: 'dropForever' },
    ],
  })
  return performance.now() - startedAt
}

/** Asks for the leader again and again, and notes how long the answers take. */
function startProbe(client: ClusterClient) {
  const tookMs: number[] = []
  let isOver = false
  const asking = (async () => {
    while (!isOver) {
      const startedAt = performance.now()
      await client.send('GET', '/svc/coordinator/v1/rules/_default')
      tookMs.push(performance.now() - startedAt)
      await delay(probePeriodMs)
    }
  })()
  asking.catch(() => undefined)
  return {
    stop: async () => {
      isOver = true
      await asking
    },
    figures: () => {
      const sorted = tookMs.toSorted((a, b) => a - b)
      const at = (part: number) =>
        sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] as number
      return { median: at(0.5), p99: at(0.99), longest: at(1) }
    },
  }
}

function notePeaks(home: HomeLayout, peaks: Map<string, number>): void {
  for (const { instance, process: own } of processesOf(home)) {
    if (!own || !isRunning(own)) continue
    const status = readFileSync(`/proc/${own.pid}/status`, 'utf8')
    const peakKiB = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0)
    peaks.set(instance, Math.max(peaks.get(instance) ?? 0, Math.round(peakKiB / 1024)))
  }
}
