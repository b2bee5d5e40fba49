import { isDeepStrictEqual } from 'node:util'
import { shownTaskId } from '@svc/shared/postgres'
import { type ServedSegmentsAnswer, servedSegmentsPath } from '@svc/shared/segment-serving'
import { testCaller } from '@svc/shared/testing'
import { type FinalCopies, wrongCopies } from '../../faults/check/index.ts'
import type { Rest } from '../../faults/history.ts'
import { readRules } from '../../faults/requests.ts'
import { dataSources, tiers } from '../../faults/schedule.ts'
import { checksumOf } from './checksum.ts'
import type { SimulatedCluster } from './cluster.ts'
import { cacheFolder } from './layout.ts'
import { type Observer, seenSegment } from './observer.ts'
import { type LeaderView, queryRows, readLeaderViews } from './workload.ts'

/** What shows whether a cluster has finished all work. */
type WorkState = FinalCopies & Pick<Rest, 'tasks'>

/** Returns the IDs of the segments that a server serves; undefined if it is not running. */
async function servedBy(cluster: SimulatedCluster, instance: string): Promise<readonly string[] | undefined> {
  const { process } = cluster.machines.get(instance)!
  const route = cluster.servers.get(instance)?.part.routes.find(({ path }) => path === servedSegmentsPath)
  if (process === undefined || route === undefined) return undefined
  const { promise, resolve } = Promise.withResolvers<unknown>()
  process.enter(() => {
    const query = { counter: -1, hash: '', timeout: 0 }
    const caller = testCaller(() => true)
    resolve(route.handle({ query, caller, signal: new AbortController().signal } as never))
  })
  return ((await promise) as ServedSegmentsAnswer).requests.map(({ id }) => id)
}

/** Returns what shows whether a cluster has finished all work. It is read often. */
async function readWork(cluster: SimulatedCluster): Promise<WorkState> {
  const { tables } = cluster.store
  const historicals = Object.values(tiers).flat()
  const served = await Promise.all(
    historicals.map(async (instance) => [instance, (await servedBy(cluster, instance)) ?? []] as const),
  )
  return {
    rules: Object.fromEntries(
      [...tables.rules.rows].map(([name, { rules }]) => [name, readRules(JSON.parse(rules))]),
    ),
    segments: [...tables.segments.rows.values()].map(seenSegment),
    tasks: [...tables.tasks.rows.values()].map(({ id, state, createdAt, finishedAt }) => ({
      id: shownTaskId(id),
      state,
      createdAt,
      finishedAt,
    })),
    served: Object.fromEntries(served),
  }
}

/** Returns what is wrong with the files that historicals serve. */
export function damagedCopies({ machines, store: { tables } }: SimulatedCluster): string[] {
  return Object.values(tiers)
    .flat()
    .flatMap((instance) => {
      const folder = machines.get(instance)!.disk.find(`${cacheFolder}/segments`)
      if (folder?.kind !== 'folder') return []
      return [...folder.entries].flatMap(([id, entry]) => {
        const file = entry.kind === 'folder' ? entry.entries.get('segment.parquet') : undefined
        const segment = tables.segments.rows.get(id)
        if (segment === undefined) return []
        const isSound = file?.kind === 'file' && checksumOf(file.data) === segment.payload.loadSpec.checksum
        return isSound ? [] : [`The copy of segment [${id}] on [${instance}] is damaged`]
      })
    })
}

/** Returns what a cluster has not finished. */
function unfinished(state: WorkState): string[] {
  const running = state.tasks.filter(({ state: one }) => one !== 'SUCCESS' && one !== 'FAILED')
  return [...running.map(({ id, state: one }) => `task [${id}] is ${one}`), ...wrongCopies(state)]
}

const pollMs = 2000
const maxViewMs = 20_000

/** Returns how what the coordinator leader and the broker know about the historicals differs from what they serve. */
async function wrongViews(cluster: SimulatedCluster, { served }: WorkState): Promise<string[]> {
  let views: readonly LeaderView[] | undefined
  cluster.client.later(0, async () => {
    views = await readLeaderViews(cluster, Object.keys(served))
  })
  await cluster.scheduler.runUntil(() => views !== undefined, cluster.scheduler.nowMs + maxViewMs)
  if (views === undefined) return ['the coordinator leader does not answer']
  return views.flatMap(({ instance, segments, queued }) => {
    const isRight = (known: readonly string[]): boolean =>
      isDeepStrictEqual([...known].sort(), [...served[instance]!].sort())
    const inBroker = cluster.brokerView?.servedBy(`${instance}:8080`) ?? []
    return [
      ...(isRight(segments) ? [] : [`the leader does not know what [${instance}] serves`]),
      ...(isRight([...inBroker]) ? [] : [`the broker does not know what [${instance}] serves`]),
      ...(queued === 0 ? [] : [`the leader waits for [${instance}] to load or drop segments`]),
    ]
  })
}

/** Waits until a cluster has finished all work. Returns what it was still waiting for after `maxMs`. */
export async function waitUntilIdle(cluster: SimulatedCluster, maxMs: number): Promise<string[]> {
  const untilMs = cluster.scheduler.nowMs + maxMs
  for (;;) {
    const state = await readWork(cluster)
    const work = unfinished(state)
    const problems = work.length > 0 ? work : await wrongViews(cluster, state)
    if (problems.length === 0 || cluster.scheduler.nowMs >= untilMs || cluster.violations.length > 0)
      return problems
    await cluster.scheduler.runUntil(() => false, cluster.scheduler.nowMs + pollMs)
  }
}

const maxQueryMs = 60_000

/** Returns the final state of a cluster, with the rows that queries return. */
export async function readRest(cluster: SimulatedCluster, observer: Observer): Promise<Rest> {
  const rows: Record<string, NonNullable<Awaited<ReturnType<typeof queryRows>>>> = {}
  const counted = [...dataSources.appended, dataSources.replaced]
  cluster.client.later(0, async () => {
    for (const dataSource of counted) {
      const found = await queryRows(cluster, dataSource)
      if (found !== undefined) rows[dataSource] = found
    }
  })
  const isOver = (): boolean => counted.every((dataSource) => rows[dataSource] !== undefined)
  await cluster.scheduler.runUntil(isOver, cluster.scheduler.nowMs + maxQueryMs)
  const { tables } = cluster.store
  return {
    ...(await readWork(cluster)),
    compaction: Object.fromEntries(
      [...tables.compactionConfigs.rows].map(([name, config]) => [name, JSON.parse(config).taskPriority]),
    ),
    audit: [...tables.audit.rows.values()].map(({ type, key, comment, payload }) => ({
      type,
      key,
      comment,
      payload: type === 'rules' ? JSON.stringify(readRules(JSON.parse(payload))) : payload,
    })),
    segments: [...tables.segments.rows.values()].map((segment) => ({
      ...seenSegment(segment),
      file: observer.fileState(segment),
    })),
    rows,
    accepted: {},
  }
}
