import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { cancelled, conflict, invalidInput } from '@svc/domain/failure'
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
import { countOf, formatSeconds } from '../terminal/index.ts'
import { areAllLoaded, killLeader, type Takeover } from './kill-leader.ts'
import { type Latencies, latenciesOf } from './latencies.ts'
import { type SimulationSize, virtualSegmentSizeBytes, virtualSegments } from './virtual-segments.ts'

/** Options of a simulation. */
export interface SimulationOptions extends SimulationSize {
  readonly servers: number
  /** Load rate of each server, for example `1GiB`. */
  readonly loadBytesPerSecond: string
  readonly failureProbability: number
  /** Must not exist yet, and is kept afterward, with its virtual servers. Default: a temporary home. */
  readonly home?: string | undefined
  readonly portOffset?: string | undefined
  /** Whether to run two coordinators and, once everything is loaded, kill the leader and keep it down. */
  readonly killLeader: boolean
  readonly signal: AbortSignal
  /** Called once everything is loaded. */
  readonly onLoaded?: (cluster: Cluster) => Promise<void>
  readonly out: { write(text: string): unknown }
}

/** Measurements of a simulation. */
export interface SimulationFigures extends SimulationSize {
  readonly servers: number
  /** Time to write the segments to the metadata store. */
  readonly copySeconds: number
  /** Time from then until every segment was served. */
  readonly loadSeconds: number
  /** Latency of requests to the leader, sent one after the other during that time. */
  readonly requestMs: Latencies
  /** Time to preview other default rules over all loaded segments: the first time, and the same again. */
  readonly previewMs: { readonly first: number; readonly again: number }
  /** Time to plan other rules for each datasource and the cluster defaults, from reading the cluster to the result. */
  readonly planMs: { readonly first: number; readonly again: number }
  /** How another coordinator took over, if the leader was killed. */
  readonly takeover?: Takeover
  /** Peak resident memory by process. */
  readonly peakMiB: Readonly<Record<string, number>>
}

const pollPeriodMs = 2000
const probePeriodMs = 50

/**
 * Starts a cluster of virtual historicals, adds virtual segments, and reports progress until all are loaded. Always stops
 * the cluster before it returns or throws.
 */
export async function runSimulation(options: SimulationOptions): Promise<SimulationFigures> {
  const { out, servers, segments, signal } = options
  if (options.home !== undefined && isHome(homeLayout(options.home)))
    throw invalidInput(
      `Home [${options.home}] already exists, but a simulation creates a new one. To start the cluster of an existing home, use ./svc up --home.`,
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
  out.write(
    `Wrote ${countOf(segments, 'segment')} of ${countOf(datasources, 'datasource')} in ${copySeconds.toFixed(1)} s\n`,
  )
  const startedAt = performance.now()
  const probe = startProbe(client)
  const peaks = new Map<string, number>()
  try {
    for (;;) {
      if (signal.aborted) throw cancelled('The simulation was interrupted')
      recordPeaks(cluster.home, peaks)
      const known = (await client.send('GET', '/svc/coordinator/v1/servers?simple')) as {
        type: string
        currSize: number
      }[]
      const historicals = known.filter(({ type }) => type === 'historical')
      const loaded = Math.round(
        historicals.reduce((sum, { currSize }) => sum + currSize, 0) / virtualSegmentSizeBytes,
      )
      out.write(
        `${formatSeconds(performance.now() - startedAt).padStart(8)}  ${countOf(historicals.length, 'server')}  ${countOf(loaded, 'replica')}  ${((100 * loaded) / segments).toFixed(1)}%\n`,
      )
      if (loaded >= segments && (await isLoaded(client, datasources))) break
      await delay(pollPeriodMs)
    }
  } finally {
    await probe.stop()
  }
  const loadSeconds = (performance.now() - startedAt) / 1000
  const previewMs = { first: await timePreview(client), again: await timePreview(client) }
  const planMs = { first: await timePlan(client, options), again: await timePlan(client, options) }
  recordPeaks(cluster.home, peaks)
  await options.onLoaded?.(cluster)
  const takeover = options.killLeader ? await killLeader(cluster, datasources, signal) : undefined
  recordPeaks(cluster.home, peaks)
  return {
    servers,
    segments,
    datasources,
    copySeconds,
    loadSeconds,
    requestMs: probe.figures(),
    previewMs,
    planMs,
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

/** Whether all required segments of this number of datasources are loaded. */
export async function isLoaded(client: ClusterClient, datasources: number): Promise<boolean> {
  const status = (await client.send('GET', '/svc/coordinator/v1/loadstatus?simple')) as Record<string, number>
  return areAllLoaded(status, datasources)
}

/** Time of a preview of rules that keep two replicas of the last year and drop older data, in milliseconds. */
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

/** Time to plan rules for each datasource, other cluster defaults, and another dynamic configuration, in milliseconds. */
async function timePlan(client: ClusterClient, { datasources }: SimulationSize): Promise<number> {
  const [{ compareFiles, makePlan }, { previewsOfSvc }, { parseState }] = await Promise.all([
    import('../plan/index.ts'),
    import('../preview/index.ts'),
    import('../declared-state/index.ts'),
  ])
  const lists = Array.from({ length: datasources }, (_, number) => [
    `simulated-${number + 1}`,
    [
      { type: 'loadByPeriod', period: `P${100 + number}D`, tieredReplicants: { _default_tier: 2 } },
      { type: 'loadByPeriod', period: 'P2Y', tieredReplicants: { _default_tier: 1 } },
    ],
  ])
  const json = {
    rules: { ...Object.fromEntries(lists), _default: [{ type: 'dropForever' }] },
    coordinator: { maxSegmentsToMove: 7 },
  }
  const startedAt = performance.now()
  const declared = parseState([{ source: 'simulation', json }])
  const compared = await compareFiles(client, { files: [], declared }, { parts: [], create: false })
  const { plan } = await makePlan(client, compared, previewsOfSvc(client, { buckets: 100 }), new Date())
  if (plan.changes.length !== datasources + 2) throw conflict('The plan does not contain all changes')
  return performance.now() - startedAt
}

/** Queries the leader repeatedly and records the latency. */
function startProbe(client: ClusterClient) {
  const tookMs: number[] = []
  let isOver = false
  const probing = (async () => {
    while (!isOver) {
      const startedAt = performance.now()
      await client.send('GET', '/svc/coordinator/v1/rules/_default')
      tookMs.push(performance.now() - startedAt)
      await delay(probePeriodMs)
    }
  })()
  probing.catch(() => undefined)
  return {
    stop: async () => {
      isOver = true
      await probing
    },
    figures: () => latenciesOf(tookMs),
  }
}

function recordPeaks(home: HomeLayout, peaks: Map<string, number>): void {
  for (const { instance, process: own } of processesOf(home)) {
    if (!own || !isRunning(own)) continue
    const status = readFileSync(`/proc/${own.pid}/status`, 'utf8')
    const peakKiB = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0)
    peaks.set(instance, Math.max(peaks.get(instance) ?? 0, Math.round(peakKiB / 1024)))
  }
}
