import { readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { shownTaskId, sql } from '@svc/shared/postgres'
import type { TestCluster } from '../support/test-cluster.ts'
import type { Entry, SeenSegment } from './history.ts'
import { countRows, readCounts } from './requests.ts'
import { answerInTime, requestWithRight } from './run-work.ts'
import { dataSources, days, firstRowsPerDay, instances, tiers } from './schedule.ts'
import type { World } from './world.ts'

const claimPeriodMs = 250
const leasePeriodMs = 250
const segmentPeriodMs = 400
const heldPeriodMs = 100
const probePeriodMs = 400
const rightPeriodMs = 400
/** If a probe takes longer, the next one starts in parallel. */
const maxProbeMs = 2000

/** The datasource whose rules only probes write. */
const probed = 'probed'

/** What observations need: the cluster, the time, and where they are recorded. */
interface Observer {
  readonly world: World
  readonly now: () => number
  readonly record: (entry: Entry) => void
}

/** Observes the cluster continuously and records what it sees; returns a function that stops it. */
export function observe(
  world: World,
  now: () => number,
  record: (entry: Entry) => void,
): () => Promise<void> {
  const observer = { world, now, record }
  let isOver = false
  const repeat = async (periodMs: number, look: () => Promise<void> | void) => {
    while (!isOver) {
      await Promise.resolve(look()).catch(() => undefined)
      await delay(periodMs)
    }
  }
  const looks = [
    ...(['coordinator', 'overlord'] as const).flatMap((role) =>
      instances[role].map((instance) => repeat(claimPeriodMs, () => observeClaim(observer, role, instance))),
    ),
    ...Object.values(instances)
      .flat()
      .map((instance) => repeat(rightPeriodMs, () => observeRight(observer, instance))),
    repeat(leasePeriodMs, () => observeLeases(observer)),
    repeat(segmentPeriodMs, observeSegments(observer)),
    repeat(heldPeriodMs, observeCaches(observer)),
    repeat(probePeriodMs, () => Promise.race([probe(observer), delay(maxProbeMs)])),
  ]
  return async () => {
    isOver = true
    await Promise.all(looks)
  }
}

async function observeClaim(
  { world, now, record }: Observer,
  role: 'coordinator' | 'overlord',
  instance: string,
): Promise<void> {
  const from = now()
  const word = role === 'coordinator' ? 'coordinator' : 'indexer'
  const answer = await answerInTime(world.cluster.at(instance).send({ path: `/svc/${word}/v1/isLeader` }))
  if (answer?.status === 200) record({ type: 'claim', from, until: now(), role, instance })
}

async function observeRight({ world, now, record }: Observer, instance: string): Promise<void> {
  const from = now()
  const status = (await answerInTime(requestWithRight(world.cluster, instance)))?.status
  if (status === 200 || status === 403)
    record({ type: 'accepted', from, until: now(), instance, isAccepted: status === 200 })
}

async function observeLeases({ world: { cluster }, now, record }: Observer): Promise<void> {
  const from = now()
  const leases = await cluster.store.query<{ role: string; node: string; term: number }>(
    sql`SELECT role, node, term FROM leader_leases`,
  )
  const instanceOf = new Map(
    cluster.plan.services.map(({ instance }) => [cluster.nameOf(instance), instance]),
  )
  record({
    type: 'leases',
    from,
    until: now(),
    leases: leases.map(({ role, node, term }) => ({ role, instance: instanceOf.get(node) ?? node, term })),
  })
}

function observeSegments({ world, now, record }: Observer) {
  let before = new Map<string, SeenSegment>()
  return async () => {
    const from = now()
    const present = new Map((await loadSegments(world.cluster)).map((segment) => [segment.id, segment]))
    const changed = [...present.values()].filter(({ id, state }) => before.get(id)?.state !== state)
    const gone = [...before.values()]
      .filter(({ id }) => !present.has(id))
      .map((segment): SeenSegment => ({ ...segment, state: 'gone' }))
    record({ type: 'segments', from, until: now(), changed: [...changed, ...gone] })
    before = present
  }
}

function observeCaches({ world, now, record }: Observer) {
  const look = () => {
    const folders = Object.values(tiers).flat().map(world.cacheOf)
    return new Set(
      folders
        .flatMap((folder) => readdirSync(folder))
        .filter((name) => name.startsWith(`${dataSources.stable}_`)),
    )
  }
  const all = look()
  return () => {
    const from = now()
    const first = look()
    if (first.size === all.size) return
    // A segment may move from a folder that is yet to be read to one that was read already; a second pass
    // finds it.
    const second = look()
    const missing = [...all].filter((id) => !first.has(id) && !second.has(id))
    if (missing.length > 0) record({ type: 'held', from, until: now(), missing })
  }
}

async function probe({ world, now, record }: Observer): Promise<void> {
  const from = now()
  const problem = await problemOf(world.cluster)
  record({ type: 'probe', from, until: now(), problem })
}

/** Returns why the cluster cannot take a write or answer a query; null if it can. */
async function problemOf({ router }: TestCluster): Promise<string | null> {
  const write = await answerInTime(
    router.send({
      method: 'POST',
      path: `/svc/coordinator/v1/rules/${probed}`,
      json: [{ type: 'loadForever', tieredReplicants: { _default_tier: 1 } }],
    }),
  )
  if (write?.status !== 200) return `write: ${write?.status ?? 'no answer'} ${write?.text ?? ''}`
  const query = countRows(dataSources.stable)
  const json = { query, resultFormat: 'array' }
  const answer = await answerInTime(router.send({ method: 'POST', path: '/svc/v2/sql', json }))
  if (answer?.status !== 200) return `query: ${answer?.status ?? 'no answer'} ${answer?.text ?? ''}`
  const rows = readCounts(answer.json)
  return rows.length === days.length && rows.every((row) => row.rows === firstRowsPerDay)
    ? null
    : `query: ${JSON.stringify(rows)}`
}

/** All segments in the metadata store. */
export async function loadSegments({ store }: Pick<TestCluster, 'store'>): Promise<SeenSegment[]> {
  const rows = await store.query<{
    id: string
    dataSource: string
    startMs: number
    version: string
    used: boolean
    task: string | null
  }>(sql`
    SELECT id, datasource AS "dataSource", start_ms AS "startMs", version, used, task_id AS task FROM segments ORDER BY id`)
  return rows.map(({ startMs, used, task, ...segment }) => ({
    ...segment,
    task: task && shownTaskId(task),
    day: new Date(startMs).toISOString().slice(0, 10),
    state: used ? 'used' : 'unused',
  }))
}
