import { isDeepStrictEqual } from 'node:util'
import { type SegmentPayload, segmentFromPayload } from '@svc/domain/segment'
import { copyManySegments, type Database, rulesChannel, saveCompactionState, sql } from '@svc/shared/postgres'
import { createHttpClient, type HttpClient, waitUntil } from '@svc/shared/testing'
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts'
import type { System } from './druid-system.ts'
import { basicProperties, passwords } from './logins.ts'
import type { StoredSegment } from './state.ts'

const credentials = `admin:${passwords.admin}`
const settleTimeoutMs = 5000

interface ClusterState {
  readonly settled: boolean
  readonly reasons: readonly string[]
}

/** Starts svc with virtual servers. Its paths start with `druid`, and duties run only on request and after changes. */
export async function startSvc(): Promise<System> {
  const cluster = await startTestCluster({
    profile: 'plain',
    set: [
      ...Object.entries(basicProperties('svc')).map(([name, value]) => `${name}=${value}`),
      'svc.api.aliases=["druid"]',
      'svc.simulation.enabled=true',
      'svc.compaction.period=PT1H',
      'overlord.svc.worker.capacity=0',
      'coordinator.svc.coordinator.period=PT1H',
      `historical.svc.simulation.virtualServers=${JSON.stringify([unusedServer])}`,
    ],
  })
  const client = (instance: string) => createHttpClient(cluster.urls[instance] as string, { credentials })
  const coordinator = client('coordinator')
  const overlord = client('overlord')
  const historical = client('historical-1')
  const broker = cluster.nameOf('broker')
  const setServers = async (servers: readonly { readonly name: string }[]) => {
    await historical.post('/svc/historical/v1/virtualServers', servers)
    await waitUntil(
      'svc lists exactly these servers',
      () => coordinator.get<string[]>('/svc/coordinator/v1/servers'),
      (listed) =>
        isDeepStrictEqual(
          listed.filter((name) => name !== broker).sort(),
          servers.map(({ name }) => name).sort(),
        ),
    )
  }
  const clientOf = (path: string) => (path.startsWith('/druid/indexer/') ? overlord : coordinator)
  return {
    name: 'svc',
    clientOf,
    send: async (request) => {
      const answer = await clientOf(request.path).send(request)
      return { ...answer, json: withoutServer(answer.json, broker) }
    },
    reset: async (servers, segments) => {
      // Servers that stay keep their segments, so all are replaced first.
      await setServers([unusedServer])
      await clearStore(cluster.store)
      await insertSegments(cluster.store, segments)
      await setServers(
        servers.map(({ name, type, tier, size, priority }) => ({
          name,
          type,
          tier,
          size: String(size),
          priority,
          loadBytesPerSecond: '1TiB',
        })),
      )
    },
    settle: () => settle(coordinator),
    stop: async () => {
      for (const one of [coordinator, overlord, historical]) one.close()
      await cluster.end()
    },
  }
}

/** Runs the duties until the cluster is settled. Returns whether it is settled in time. */
async function settle(coordinator: HttpClient): Promise<boolean> {
  const endsAt = performance.now() + settleTimeoutMs
  while (performance.now() < endsAt) {
    await coordinator.post('/svc/simulation/v1/run', {})
    const { settled } = await waitUntil(
      'load queues of svc are empty',
      () => coordinator.get<ClusterState>('/svc/coordinator/v1/clusterState'),
      ({ reasons }) => !reasons.some((reason) => reason.startsWith('Load queues')),
      { timeoutMs: settleTimeoutMs, pollMs: 10 },
    ).catch(() => ({ settled: false }))
    if (settled) return true
  }
  return false
}

/** Leaves out the broker, which Druid does not run here. */
function withoutServer(json: unknown, name: string): unknown {
  const isServer = (value: unknown): boolean =>
    value === name || (typeof value === 'object' && value !== null && 'host' in value && value.host === name)
  if (Array.isArray(json)) return json.filter((item) => !isServer(item))
  if (typeof json !== 'object' || json === null || !Object.hasOwn(json, name)) return json
  return Object.fromEntries(Object.entries(json).filter(([key]) => key !== name))
}

// A process of virtual servers always has at least one.
const unusedServer = { name: 'unused', tier: 'unused', size: '1' }

async function clearStore(store: TestCluster['store']): Promise<void> {
  await store.transaction(async (transaction) => {
    await transaction.query(sql`DELETE FROM segments`)
    await transaction.query(sql`DELETE FROM rules WHERE datasource <> '_default'`)
    await transaction.query(sql`DELETE FROM dynamic_configs`)
    await transaction.query(sql`DELETE FROM compaction_configs`)
    await transaction.query(sql`DELETE FROM compaction_history`)
    await transaction.query(sql`DELETE FROM supervisors`)
    await transaction.query(sql`DELETE FROM tasks`)
    await transaction.query(sql`DELETE FROM audit`)
    await transaction.query(sql`SELECT pg_notify(${rulesChannel}, '')`)
  })
}

async function insertSegments(store: Database, segments: readonly StoredSegment[]): Promise<void> {
  const rows = []
  for (const { payload } of segments) {
    const segment = segmentFromPayload(payload)
    const state = payload.lastCompactionState
    if (state === undefined) {
      rows.push({ segment, payload })
      continue
    }
    const { id, fingerprint } = await saveCompactionState(store, { dataSource: segment.dataSource, state })
    const compacted: SegmentPayload = { ...payload, indexingStateFingerprint: fingerprint }
    rows.push({ segment, payload: compacted, compactionState: id })
  }
  await copyManySegments(store, rows, Date.now())
  const unused = segments.filter(({ used }) => !used).map(({ payload }) => payload.identifier)
  await store.query(sql`UPDATE segments SET used = false WHERE id = ANY(${unused})`)
  await store.query(sql`
    UPDATE segments SET created_at = given.created_at::timestamptz
    FROM unnest(${segments.map(({ payload }) => payload.identifier)}::text[],
      ${segments.map(({ created }) => created)}::text[]) AS given (id, created_at)
    WHERE segments.id = given.id`)
}
