import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { serverNameAt } from '@svc/domain/calls'
import { payloadOf, segmentId, virtualLoadSpec } from '@svc/domain/segment'
import { loadSettings } from '@svc/shared/config'
import { copyManySegments, createDatabase } from '@svc/shared/postgres'
import { type ClusterClient, connectToCluster } from '../client/index.ts'
import { type Cluster, commonPropertiesFile, runtimePropertiesFile } from '../cluster/index.ts'
import { openHome, repositoryRoot } from '../home/index.ts'
import { describeMachine, type PredictedTime, predictedTimeOf, predictedTimeText } from './figures.ts'
import { ingestDays, until } from './ingest-days.ts'
import { withTemporaryCluster } from './temporary-cluster.ts'

/** Results of the benchmark of load times. */
export interface DurationsBenchmark {
  readonly machine: string
  readonly figures: readonly PredictedTime[]
}

/** A tier in which a rule change loads one datasource. Its first segments are loaded before, to measure its servers. */
interface DurationCase {
  readonly name: string
  readonly tier: string
  readonly segments: number
  /** Replicas of each segment after the change. */
  readonly copies: number
}

interface VirtualCase extends DurationCase {
  readonly servers: readonly { readonly size: string; readonly loadBytesPerSecond: string }[]
  /** Sizes of its segments, in turn. */
  readonly sizesMiB: readonly number[]
}

interface RealCase extends DurationCase {
  readonly servers: number
  /** Time that each access to deep storage takes longer. */
  readonly delayMs: number
}

/** Cases that run at the same time, each in a tier of its own. */
interface Scenario {
  readonly period: string
  readonly config: object
}

const dayMs = 86_400_000
const mib = 1024 * 1024
const warmUpSegments = 15
// The first day of the sample data.
const firstDay = Date.UTC(2001, 0, 1)
const server = (loadBytesPerSecond: string, size = '10TiB') => ({ size, loadBytesPerSecond })

const virtualScenarios: readonly (Scenario & { readonly cases: readonly VirtualCase[] })[] = [
  {
    period: 'PT10S',
    config: {},
    cases: [
      {
        name: 'two identical servers',
        tier: 'equal',
        servers: [server('50MiB'), server('50MiB')],
        segments: 80,
        copies: 1,
        sizesMiB: [100],
      },
      {
        name: 'segments of many sizes',
        tier: 'mixed',
        servers: [server('100MiB'), server('100MiB'), server('100MiB')],
        segments: 150,
        copies: 1,
        sizesMiB: [10, 400, 50, 120, 250],
      },
      {
        name: 'a slow server',
        tier: 'slow',
        servers: [server('40MiB'), server('80MiB')],
        segments: 80,
        copies: 1,
        sizesMiB: [80],
      },
      {
        name: 'a small and a large server',
        tier: 'sizes',
        servers: [server('50MiB', '1TiB'), server('50MiB', '4TiB')],
        segments: 60,
        copies: 1,
        sizesMiB: [100],
      },
      {
        name: 'two replicas on three servers',
        tier: 'replicas',
        servers: [server('100MiB'), server('100MiB'), server('100MiB')],
        segments: 120,
        copies: 2,
        sizesMiB: [100],
      },
    ],
  },
  {
    period: 'PT15S',
    config: {
      smartSegmentLoading: false,
      maxSegmentsInNodeLoadingQueue: 30,
      replicationThrottleLimit: 20,
      maxSegmentsToMove: 0,
    },
    cases: [
      {
        name: 'short load queues',
        tier: 'queues',
        servers: [server('1GiB'), server('1GiB')],
        segments: 340,
        copies: 1,
        sizesMiB: [100],
      },
      {
        name: 'throttled replicas',
        tier: 'throttled',
        servers: [server('1GiB'), server('1GiB')],
        segments: 120,
        copies: 2,
        sizesMiB: [100],
      },
      {
        name: 'short load queues on slow servers',
        tier: 'busy',
        servers: [server('100MiB'), server('100MiB')],
        segments: 140,
        copies: 1,
        sizesMiB: [100],
      },
      {
        name: 'many small segments',
        tier: 'small',
        servers: [server('10MiB'), server('10MiB'), server('10MiB'), server('10MiB')],
        segments: 520,
        copies: 1,
        sizesMiB: [5],
      },
      {
        name: 'three replicas on three servers',
        tier: 'three',
        servers: [server('100MiB'), server('100MiB'), server('100MiB')],
        segments: 60,
        copies: 3,
        sizesMiB: [100],
      },
    ],
  },
]

const realScenario: Scenario & { readonly cases: readonly RealCase[] } = {
  period: 'PT10S',
  config: {},
  cases: [
    { name: 'a fast disk, two replicas', tier: 'fast', servers: 2, segments: 90, copies: 2, delayMs: 3400 },
    { name: 'a slow disk', tier: 'slow', servers: 1, segments: 90, copies: 1, delayMs: 3700 },
    { name: 'two servers', tier: 'two', servers: 2, segments: 90, copies: 1, delayMs: 7200 },
    { name: 'part of the data', tier: 'part', servers: 1, segments: 60, copies: 1, delayMs: 6200 },
    { name: 'a very slow disk', tier: 'slowest', servers: 2, segments: 60, copies: 1, delayMs: 12_500 },
  ],
}

/**
 * Compares the load times that previews predict with measured load times: ten cases on virtual servers, and five on
 * real ones. `only` selects one of the three clusters. Calls `onStep` after each case.
 */
export async function benchDurations(
  only: number | undefined,
  onStep: (text: string) => void,
): Promise<DurationsBenchmark> {
  const runs = [
    ...virtualScenarios.map((scenario) => () => runVirtual(scenario)),
    () => runReal(realScenario),
  ]
  const figures: PredictedTime[] = []
  for (const run of only === undefined ? runs : [runs[only - 1]!]) {
    for (const figure of await run()) {
      figures.push(figure)
      onStep(predictedTimeText(figure))
    }
  }
  return { machine: describeMachine(), figures }
}

async function runVirtual({
  period,
  config,
  cases,
}: (typeof virtualScenarios)[number]): Promise<PredictedTime[]> {
  const groups = cases.flatMap(({ tier, servers }) =>
    servers.map((one, index) => ({ name: `${tier}-${index + 1}:8083`, tier, ...one })),
  )
  return await withTemporaryCluster(
    (home) => ({
      isNewHome: true,
      profile: 'plain',
      set: [`coordinator.svc.coordinator.period=${period}`],
      beforeStart: async () =>
        writeFileSync(openHome(home).virtualServers, `${JSON.stringify(groups)}\n`, { mode: 0o600 }),
    }),
    (cluster) => measureCases(cluster, config, cases, () => storeVirtualSegments(cluster, cases)),
  )
}

async function storeVirtualSegments({ home }: Cluster, cases: readonly VirtualCase[]): Promise<void> {
  const files = [commonPropertiesFile(home), runtimePropertiesFile(home, 'coordinator')]
  const database = createDatabase(loadSettings('coordinator', files, {}), {
    connections: 1,
    applicationName: 'svc dev bench',
  })
  try {
    for (const { tier, segments, sizesMiB } of cases) {
      const rows = Array.from({ length: segments }, (_, index) => {
        const start = firstDay + index * dayMs
        const interval = { start, end: start + dayMs }
        const key = { dataSource: tier, interval, version: '2026-01-01T00:00:00.000Z', partitionNum: 0 }
        const sizeBytes = sizesMiB[index % sizesMiB.length]! * mib
        const segment = { ...key, id: segmentId(key), partitions: 1, sizeBytes, totalRows: 1 }
        return {
          segment,
          payload: payloadOf(segment, { loadSpec: virtualLoadSpec, dimensions: '', metrics: '' }),
        }
      })
      await copyManySegments(database, rows, Date.now())
    }
  } finally {
    await database.close()
  }
}

async function runReal({ period, config, cases }: typeof realScenario): Promise<PredictedTime[]> {
  return await withTemporaryCluster(
    () => ({
      profile: 'plain',
      historicals: cases.map(({ tier, servers }) => `${tier}=${servers}`).join(),
      set: ['svc.simulation.enabled=true', `coordinator.svc.coordinator.period=${period}`],
    }),
    async (cluster) => {
      const client = connectToCluster(cluster.home)
      const delays = cases.flatMap(({ servers, delayMs }) => Array.from({ length: servers }, () => delayMs))
      const historicals = cluster.plan.services.filter(({ role }) => role === 'historical')
      for (const [index, { url }] of historicals.entries()) {
        const [target, delayMs] = [serverNameAt(url), delays[index]]
        const fault = { kind: 'slow-disk', target, delayMs }
        await client.send('POST', '/svc/simulation/v1/faults', fault)
      }
      return await measureCases(cluster, config, cases, () => ingest(client, cases))
    },
  )
}

/** Ingests the sample data into one datasource for each case, as a segment per day. */
async function ingest(client: ClusterClient, cases: readonly RealCase[]): Promise<void> {
  for (const { tier } of cases)
    await ingestDays(client, {
      dataSource: tier,
      folder: path.join(repositoryRoot, 'data'),
      file: 'flights.csv',
      timestampFormat: 'iso',
      dimensions: ['origin', 'destination'],
      metrics: [],
    })
}

/** Loads a part of each datasource, previews that the rest is loaded, and measures how long that takes by tier. */
async function measureCases(
  { home }: Cluster,
  config: object,
  cases: readonly DurationCase[],
  store: () => Promise<void>,
): Promise<PredictedTime[]> {
  const client = connectToCluster(home)
  await client.send('POST', '/svc/coordinator/v1/config', config)
  await setRules(client, Object.fromEntries(cases.map((one) => [one.tier, rulesOf(one, warmUpSegments, 1)])))
  await store()
  await until('the first segments are loaded', async () => {
    const missing = await missingByTier(client)
    return cases.every(({ tier }) => missing.get(tier) === 0)
  })
  const rules = Object.fromEntries(cases.map((one) => [one.tier, rulesOf(one, one.segments, one.copies)]))
  const { summary } = (await client.send('POST', '/svc/coordinator/v1/rules/simulate', { rules })) as {
    summary: { loadTime: { tiers: Record<string, { durationMs: number | null }> } }
  }
  const startedAt = performance.now()
  await setRules(client, rules)
  const measuredMs = new Map<string, number>()
  await until('everything is loaded', async () => {
    const missing = await missingByTier(client)
    for (const { tier } of cases)
      if (missing.get(tier) === 0 && !measuredMs.has(tier))
        measuredMs.set(tier, performance.now() - startedAt)
    return measuredMs.size === cases.length
  })
  return cases.map(({ name, tier }) => {
    const predictedMs = summary.loadTime.tiers[tier]?.durationMs ?? Number.NaN
    return predictedTimeOf(name, predictedMs, measuredMs.get(tier)!)
  })
}

/** The rules of a datasource that load its first segments in its tier, and nothing else. */
function rulesOf({ tier }: DurationCase, segments: number, copies: number): object[] {
  const dayOf = (day: number) => new Date(firstDay + day * dayMs).toISOString()
  return [
    {
      type: 'loadByInterval',
      interval: `${dayOf(0)}/${dayOf(segments)}`,
      tieredReplicants: { [tier]: copies },
    },
    { type: 'loadForever', tieredReplicants: {} },
  ]
}

async function setRules(client: ClusterClient, rules: Readonly<Record<string, object[]>>): Promise<void> {
  for (const [name, list] of Object.entries(rules))
    await client.send('POST', `/svc/coordinator/v1/rules/${name}`, list)
}

async function missingByTier(client: ClusterClient): Promise<Map<string, number>> {
  const status = (await client.send('GET', '/svc/coordinator/v1/loadstatus?full')) as Record<
    string,
    Record<string, number>
  >
  return new Map(
    Object.entries(status).map(([tier, counts]) => [
      tier,
      Object.values(counts).reduce((sum, count) => sum + count, 0),
    ]),
  )
}
