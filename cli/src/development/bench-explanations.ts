import { Agent } from 'node:https'
import { setTimeout } from 'node:timers/promises'
import type { ExplanationAnswer } from '@svc/domain/explanation'
import { unavailable } from '@svc/domain/failure'
import { type ClusterClient, connectToCluster, errorMessageOf, sendRequest } from '../client/index.ts'
import type { Cluster } from '../cluster/index.ts'
import { type Latencies, latenciesOf, runSimulation, virtualSegments } from '../simulate/index.ts'
import { describeMachine } from './figures.ts'
import { until } from './ingest-days.ts'

/** Explanations of random segments, one after the other. */
interface ExplanationFigures {
  readonly explainMs: Latencies
  readonly withoutExplanations: DelayFigures
  readonly withExplanations: DelayFigures
}

/** How long other work of the leader waits. */
interface DelayFigures {
  /** Another request that waits only for its turn. Includes the work of the client, which also requests the explanations. */
  readonly probeMs: Latencies
  /** Delays of the event loop as the leader measures them, in each window. */
  readonly loopDelays: readonly LoopDelay[]
}

interface LoopDelay {
  readonly p99Ms: number
  readonly longestMs: number
}

/** Results of the benchmark of explanations. */
export interface ExplanationsBenchmark {
  readonly machine: string
  readonly servers: number
  readonly segments: number
  readonly requests: number
  readonly loaded: ExplanationFigures
  /** While a second replica of almost every segment waits for later runs. */
  readonly waiting: ExplanationFigures
}

/** Options of the benchmark. */
export interface ExplanationsOptions {
  readonly servers: number
  readonly segments: number
  readonly requests: number
}

const datasources = 50

/** Runs a simulation until all segments are loaded, and then explains random segments at the leader. */
export async function benchExplanations(
  { servers, segments, requests }: ExplanationsOptions,
  onStep: (text: string) => void,
): Promise<ExplanationsBenchmark> {
  let measured: Pick<ExplanationsBenchmark, 'loaded' | 'waiting'> | undefined
  await runSimulation({
    ...{ servers, segments, datasources, loadBytesPerSecond: '20GiB', failureProbability: 0 },
    killLeader: false,
    signal: new AbortController().signal,
    out: { write: (text) => onStep(text.trimEnd()) },
    onLoaded: async (cluster) => {
      measured = await measure(cluster, segments, requests)
    },
  })
  return { machine: describeMachine(), servers, segments, requests, ...measured! }
}

async function measure(cluster: Cluster, segments: number, requests: number) {
  const { tlsPort } = cluster.plan.services.find(({ instance }) => instance === 'coordinator')!
  const client = () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const credentials = `admin:${cluster.adminPassword}`
    return async (path: string): Promise<unknown> => {
      const url = `https://127.0.0.1:${tlsPort}${path}`
      const answer = await sendRequest({ url, agent, credentials, trusted: cluster.trusted })
      if (answer.status !== 200) throw unavailable(`[${path}] failed: ${errorMessageOf(answer)}`)
      return answer.body
    }
  }
  const paths = randomPaths(segments, requests)
  const loaded = await measureExplanations(paths, client)
  await requireSecondReplicas(connectToCluster(cluster.home))
  const explain = client()
  await until('replicas wait for later runs', async () => {
    const { next = [] } = (await explain(paths[0]!)) as ExplanationAnswer
    return next.some(({ code }) => code === 'wait')
  })
  return { loaded, waiting: await measureExplanations(paths, client) }
}

type Get = (path: string) => Promise<unknown>

// Windows with and without explanations alternate, because the other work of the leader varies over time.
const windows = 6

async function measureExplanations(paths: readonly string[], client: () => Get): Promise<ExplanationFigures> {
  const [explain, probe] = [client(), client()]
  // Compiles the code, and fills the caches of the login.
  for (const path of paths.slice(0, 100)) await explain(path)
  const explainMs: number[] = []
  const [withExplanations, without] = [delayMeter(probe), delayMeter(probe)]
  const size = Math.ceil(paths.length / windows)
  for (let start = 0; start < paths.length; start += size) {
    const startedAt = performance.now()
    await withExplanations.measure(async () => {
      explainMs.push(...(await timeEach(paths.slice(start, start + size), explain)))
    })
    const tookMs = performance.now() - startedAt
    await without.measure(async () => await setTimeout(tookMs))
  }
  return {
    explainMs: latenciesOf(explainMs),
    withoutExplanations: without.figures(),
    withExplanations: withExplanations.figures(),
  }
}

/** Measures how long other work of the leader waits while some work is done. */
function delayMeter(get: Get) {
  const probeMs: number[] = []
  const loopDelays: LoopDelay[] = []
  return {
    measure: async (work: () => Promise<void>): Promise<void> => {
      // Reading the figures starts a new measurement.
      await readLoopDelay(get)
      const probe = startProbe(get)
      await work()
      probeMs.push(...(await probe.stop()))
      loopDelays.push(await readLoopDelay(get))
    },
    figures: (): DelayFigures => ({ probeMs: latenciesOf(probeMs), loopDelays }),
  }
}

// The leader measures how late a timer is that is due every 10 ms, and includes this time.
const timerMs = 10

async function readLoopDelay(get: Get): Promise<LoopDelay> {
  const text = String(await get('/metrics'))
  const delayMs = (name: string): number => {
    const seconds = new RegExp(`^nodejs_eventloop_lag_${name}_seconds (\\S+)$`, 'm').exec(text)?.[1]
    if (seconds === undefined) throw unavailable(`The metrics of the leader do not contain [${name}]`)
    return Math.max(0, Number(seconds) * 1000 - timerMs)
  }
  return { p99Ms: delayMs('p99'), longestMs: delayMs('max') }
}

/** Requires a second replica of each segment, and lets each run add only one of them. */
async function requireSecondReplicas(client: ClusterClient): Promise<void> {
  await client.send('POST', '/svc/coordinator/v1/config', {
    smartSegmentLoading: false,
    replicationThrottleLimit: 1,
    maxSegmentsToMove: 0,
  })
  await client.send('POST', '/svc/coordinator/v1/rules/_default', [
    { type: 'loadForever', tieredReplicants: { _default_tier: 2 } },
  ])
}

/** Paths that explain segments spread over all datasources and times; the same in each run. */
function randomPaths(segments: number, requests: number): string[] {
  const step = Math.max(1, Math.floor(segments / requests))
  const paths: string[] = []
  let index = 0
  for (const { segment } of virtualSegments({ segments, datasources }, Date.now()))
    if (index++ % step === 0)
      paths.push(
        `/svc/coordinator/v1/datasources/${segment.dataSource}/segments/${encodeURIComponent(segment.id)}/explain`,
      )
  // A multiplier without common factors visits all of them in another order.
  return paths.map((_, position) => paths[(position * 7919) % paths.length]!)
}

async function timeEach(paths: readonly string[], request: Get): Promise<number[]> {
  const tookMs: number[] = []
  for (const path of paths) {
    const startedAt = performance.now()
    await request(path)
    tookMs.push(performance.now() - startedAt)
  }
  return tookMs
}

/** Requests something trivial over and over: it takes longer only while other work occupies the leader. */
function startProbe(request: Get) {
  const tookMs: number[] = []
  let isOver = false
  const probing = (async () => {
    while (!isOver) tookMs.push(...(await timeEach(['/svc/coordinator/v1/isLeader'], request)))
  })()
  return {
    /** Returns how long each request took. */
    stop: async (): Promise<readonly number[]> => {
      isOver = true
      await probing
      return tookMs
    },
  }
}
