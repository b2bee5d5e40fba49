import type { ClusterClient } from '../client/index.ts'
import { formatBytes, formatCount, type Table } from '../terminal/index.ts'

const base = '/svc/coordinator/v1'

/** A tier, with the work that its load queues contain. */
export interface Tier {
  readonly tier: string
  readonly servers: number
  /** Number of replicas that the servers have loaded. */
  readonly replicas: number
  readonly sizeBytes: number
  readonly capacityBytes: number
  readonly queuedLoads: number
  readonly queuedLoadBytes: number
  readonly queuedDrops: number
  /** Number of replicas that the rules require and that no server of the tier has. */
  readonly missingReplicas: number
}

interface AnsweredServer {
  readonly host: string
  readonly tier: string
  readonly type: string
  readonly currSize: number
  readonly maxSize: number
}

interface AnsweredQueue {
  readonly segmentsToLoad: number
  readonly segmentsToLoadSize: number
  readonly segmentsToDrop: number
}

type SizesOfTier = Readonly<Record<string, Readonly<Record<string, { readonly count: number }>>>>

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)

/** Returns the tiers of a cluster by name, including those without servers that rules name. */
export async function readTiers(client: ClusterClient): Promise<Tier[]> {
  const get = (path: string) => client.send('GET', `${base}${path}`)
  const [servers, queues, missing] = (await Promise.all([
    get('/servers?simple'),
    get('/loadqueue?simple'),
    get('/loadstatus?full'),
  ])) as [
    AnsweredServer[],
    Record<string, AnsweredQueue | undefined>,
    Record<string, Record<string, number> | undefined>,
  ]
  const historicals = servers.filter(({ type }) => type === 'historical')
  const names = [...new Set([...historicals.map(({ tier }) => tier), ...Object.keys(missing)])].sort()
  return await Promise.all(
    names.map(async (tier) => {
      const own = historicals.filter((server) => server.tier === tier)
      const ownQueues = own.flatMap(({ host }) => queues[host] ?? [])
      const sizes =
        own.length === 0 ? {} : ((await get(`/tiers/${encodeURIComponent(tier)}?simple`)) as SizesOfTier)
      const counts = Object.values(sizes).flatMap((intervals) =>
        Object.values(intervals).map(({ count }) => count),
      )
      return {
        tier,
        servers: own.length,
        replicas: sumOf(counts),
        sizeBytes: sumOf(own.map(({ currSize }) => currSize)),
        capacityBytes: sumOf(own.map(({ maxSize }) => maxSize)),
        queuedLoads: sumOf(ownQueues.map(({ segmentsToLoad }) => segmentsToLoad)),
        queuedLoadBytes: sumOf(ownQueues.map(({ segmentsToLoadSize }) => segmentsToLoadSize)),
        queuedDrops: sumOf(ownQueues.map(({ segmentsToDrop }) => segmentsToDrop)),
        missingReplicas: sumOf(Object.values(missing[tier] ?? {})),
      }
    }),
  )
}

const ifAny = (count: number): string => (count === 0 ? '' : formatCount(count))

/** One row per tier. An idle cluster has no columns for loads, drops, and missing replicas. */
export function tiersTable(tiers: readonly Tier[]): Table {
  return {
    header: ['tier', 'servers', 'replicas', 'size', 'capacity', 'loading', 'dropping', 'missing'],
    rows: tiers.map((tier) => [
      tier.tier,
      formatCount(tier.servers),
      formatCount(tier.replicas),
      formatBytes(tier.sizeBytes),
      formatBytes(tier.capacityBytes),
      ifAny(tier.queuedLoads),
      ifAny(tier.queuedDrops),
      ifAny(tier.missingReplicas),
    ]),
  }
}
