// Nothing is lost when processes die. A historical, the coordinator leader and Redis are killed at random
// points while rules move every segment, and the final state is always exactly what the rules require. A task
// whose overlord or queue is killed still runs exactly once. SVC_TEST_KILLS is the number of points, and
// SVC_TEST_SEED decides where they are.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { loadLeases, saveRules } from '@svc/shared/postgres'
import { openProducerConnection, type QueueConnection } from '@svc/shared/redis'
import { type HttpClient, waitUntil } from '@svc/shared/testing'
import { flights, flightsTask, runTask, submitTask, untilTaskSucceeds } from './support/flights.ts'
import { seededRandom } from './support/random.ts'
import {
  cachedSegments,
  checksumOf,
  filesIn,
  type StoredSegment,
  servedBy,
  servedByInventory,
  storedSegments,
} from './support/segments.ts'
import { startTestCluster, type TestCluster, type TestClusterOptions } from './support/test-cluster.ts'

const points = Number(process.env.SVC_TEST_KILLS ?? 4)
const { dataSource } = flights
const random = seededRandom()

type Copies = Readonly<Record<string, number>>

/** A cluster with the loaded data set, and the state that must never change. */
interface Scene {
  readonly cluster: TestCluster
  /** Historicals by tier. */
  readonly tiers: Readonly<Record<string, readonly string[]>>
  readonly segments: readonly StoredSegment[]
  readonly deepStorage: Readonly<Record<string, number>>
}

async function openScene(cluster: TestCluster): Promise<Scene> {
  const historicals = cluster.plan.services.filter(({ role }) => role === 'historical')
  const byTier = Map.groupBy(historicals, ({ properties }) => properties['svc.server.tier']!)
  const tiers = Object.fromEntries(
    [...byTier].map(([tier, members]) => [tier, members.map(({ instance }) => instance)]),
  )
  // Set the rules first: the cluster's default rules would load the segments before the first rules apply.
  await setRules(cluster.router, { nowhere: 1 })
  await runTask(cluster.router, flightsTask())
  const segments = await storedSegments(cluster.store, dataSource)
  assert.equal(segments.length, flights.days)
  return { cluster, tiers, segments, deepStorage: filesIn(cluster.home.deepStorage) }
}

async function setRules(at: HttpClient, copies: Copies): Promise<void> {
  const rules = [{ type: 'loadForever', tieredReplicants: copies }]
  await waitUntil(
    'the rules are accepted',
    () => at.send({ method: 'POST', path: `/svc/coordinator/v1/rules/${dataSource}`, json: rules }),
    ({ status }) => status === 200,
  )
}

/**
 * Starts to move all segments and returns once a random share of the replicas has loaded; the share is in
 * [from, to).
 */
async function moveUpTo({ cluster, tiers, segments }: Scene, copies: Copies, from: number, to: number) {
  const share = from + random.next() * (to - from)
  const missing = () => missingCopies({ cluster, tiers, segments }, copies)
  const missingAtFirst = missing()
  assert.ok(missingAtFirst >= segments.length, `only ${missingAtFirst} replicas have to load`)
  const max = missingAtFirst - Math.floor(share * missingAtFirst)
  await setRules(cluster.router, copies)
  await waitUntil(`at most ${max} replicas are missing`, missing, (count) => count <= max, { pollMs: 1 })
  await delay(random.next() * 20)
  return { missing: missing(), missingAtFirst }
}

/** The number of required replicas that are in no cache of their tier; fast, because it is polled. */
function missingCopies({ cluster, tiers, segments }: Omit<Scene, 'deepStorage'>, copies: Copies): number {
  const missing = Object.entries(copies).map(([tier, count]) => {
    const held = tiers[tier]!.reduce((sum, instance) => sum + countFolders(cluster, instance), 0)
    return Math.max(count * segments.length - held, 0)
  })
  return missing.reduce((sum, count) => sum + count, 0)
}

function countFolders({ home }: TestCluster, instance: string): number {
  return readdirSync(path.join(home.cache, instance, 'segments')).length
}

/** The number of replicas of each segment in a tier, where it differs from what the rules require. */
function wrongCopies({ cluster, tiers, segments }: Scene, copies: Copies): Record<string, number> {
  const wrong: Record<string, number> = {}
  for (const [tier, instances] of Object.entries(tiers)) {
    const held = instances.flatMap((instance) => cachedSegments(cluster, instance).map(({ id }) => id))
    const known = new Set(segments.map(({ id }) => id))
    for (const id of held) if (!known.has(id)) wrong[`${tier} ${id}`] = 1
    for (const { id } of segments) {
      const count = held.filter((other) => other === id).length
      if (count !== (copies[tier] ?? 0)) wrong[`${tier} ${id}`] = count
    }
  }
  return wrong
}

interface DutiesAnswer {
  readonly dutyGroups: readonly { readonly name: string; readonly runs: number }[]
}

/** Waits until the leader has finished a number of further runs. */
async function untilRulesRan({ router }: TestCluster, times: number): Promise<void> {
  const runs = async (): Promise<number> => {
    const { dutyGroups } = await router.get<DutiesAnswer>('/svc/coordinator/v1/duties')
    return dutyGroups.find(({ name }) => name === 'HistoricalManagementDuties')?.runs ?? 0
  }
  const before = await runs()
  await waitUntil('the coordinator duties run', runs, (count) => count >= before + times)
}

/** Waits until the state that the rules require is stable, and checks that nothing was lost. */
async function assertSettled(scene: Scene, copies: Copies): Promise<void> {
  const { cluster, tiers, segments, deepStorage } = scene
  const instances = Object.values(tiers).flat()
  for (const instance of instances) await cluster.waitUntilReady(instance)
  // Replicas may still move between the servers of a tier, with one surplus replica in the meantime, so wait for
  // that too.
  await waitUntil(
    'the state that the rules require is stable',
    async () => {
      const before = await unsettled(scene, copies)
      if (before !== undefined) return before
      const held = JSON.stringify(instances.map((instance) => cachedSegments(cluster, instance)))
      await untilRulesRan(cluster, 2)
      const isSame = held === JSON.stringify(instances.map((instance) => cachedSegments(cluster, instance)))
      return isSame ? await unsettled(scene, copies) : 'replicas moved'
    },
    (found) => found === undefined,
    { timeoutMs: 60_000 },
  )
  assert.deepEqual(await storedSegments(cluster.store, dataSource), segments, 'the metadata changed')
  assert.deepEqual(filesIn(cluster.home.deepStorage), deepStorage, 'deep storage changed')
  const checksums = new Map(segments.map(({ id, checksum }) => [id, checksum]))
  for (const instance of instances) {
    for (const { id, file } of cachedSegments(cluster, instance)) {
      assert.equal(checksumOf(file), checksums.get(id), file)
    }
  }
}

/** Returns what does not match the rules yet or is not known to; undefined if everything matches. */
async function unsettled(scene: Scene, copies: Copies): Promise<unknown> {
  const { cluster, tiers } = scene
  const { router } = cluster
  const wrong = wrongCopies(scene, copies)
  if (Object.keys(wrong).length > 0) return { wrong }
  for (const instance of Object.values(tiers).flat()) {
    const held = cachedSegments(cluster, instance).map(({ id }) => id)
    const served = await servedBy(cluster, instance)
    if (served.join() !== held.join()) return { instance, held, served }
    const known = await servedByInventory(cluster, instance)
    if (known.join() !== held.join()) return { instance, held, known }
  }
  const byTier = await router.get<Record<string, Record<string, number>>>(
    '/svc/coordinator/v1/loadstatus?full',
  )
  const isLoaded = Object.keys(tiers).every(
    (tier) => (byTier[tier]?.[dataSource] ?? (tier in copies ? undefined : 0)) === 0,
  )
  if (!isLoaded) return { byTier }
  const queues = await router.get<Record<string, Record<string, number>>>(
    '/svc/coordinator/v1/loadqueue?simple',
  )
  const isQueued = Object.values(queues).some((queue) => Object.values(queue).some((count) => count > 0))
  return isQueued ? { queues } : undefined
}

/** Kills a process, waits a random time of up to `longestMs`, and starts the process again. */
async function killAndRestart({ cluster }: Scene, instance: string, longestMs: number): Promise<void> {
  await cluster.kill(instance, 'SIGKILL')
  await cluster.stopInstance(instance)
  await delay(random.next() * longestMs)
  cluster.startInstance(instance)
}

/** A cycle of rules that each require a full set of replicas that the previous rules did not. */
const cycle: readonly Copies[] = [
  { hot: 1 },
  { _default_tier: 1 },
  { hot: 2 },
  { hot: 1, _default_tier: 1 },
  { hot: 2 },
  { _default_tier: 1 },
]

function pickOne<Item>(items: readonly Item[]): Item {
  return items[Math.floor(random.next() * items.length)]!
}

/**
 * Checks continuously that every segment is in some cache, as it must be once it was loaded. Returns a
 * function that reports the minimum seen.
 */
function watchAvailability({ cluster, tiers }: Scene): { fewest(): number; stop(): void } {
  const instances = Object.values(tiers).flat()
  const count = () => {
    const folders = instances.flatMap((instance) =>
      readdirSync(path.join(cluster.home.cache, instance, 'segments')),
    )
    return new Set(folders).size
  }
  let fewest = Number.POSITIVE_INFINITY
  const timer = setInterval(() => {
    // A segment may move from a folder that is yet to be read to one that was read already; a second pass finds
    // it.
    if (count() < flights.days) fewest = Math.min(fewest, count())
  }, 20)
  return { fewest: () => Math.min(fewest, count()), stop: () => clearInterval(timer) }
}

/** Runs ten rounds. In each, a process is killed at a random point in one tenth of the loading. */
async function killAtPoints(
  scene: Scene,
  context: TestContext,
  kill: (copies: Copies) => Promise<string>,
): Promise<void> {
  const { cluster } = scene
  let duringLoading = 0
  await setRules(cluster.router, cycle.at(-1)!)
  await assertSettled(scene, cycle.at(-1)!)
  const availability = watchAvailability(scene)
  for (let round = 0; round < points; round++) {
    const copies = cycle[round % cycle.length]!
    await context.test(`round ${round + 1}: ${JSON.stringify(copies)}`, async (roundContext) => {
      const moved = await moveUpTo(scene, copies, round / points, (round + 1) / points)
      if (moved.missing > 0) duringLoading += 1
      const faulty = await kill(copies)
      await assertSettled(scene, copies)
      roundContext.diagnostic(`${faulty} with ${moved.missing} of ${moved.missingAtFirst} replicas missing`)
      assert.equal(availability.fewest(), flights.days, 'a segment was in no cache')
    })
  }
  availability.stop()
  assert.ok(
    duringLoading >= points / 2,
    `only ${duringLoading} of ${points} kills happened while replicas were missing`,
  )
}

async function withScene(
  context: TestContext,
  options: TestClusterOptions,
  run: (scene: Scene) => Promise<void>,
): Promise<void> {
  const cluster = await startTestCluster({
    profile: 'secure',
    historicals: 'hot=2,_default_tier=1',
    ...options,
    set: ['coordinator.svc.coordinator.period=PT0.25S', ...(options.set ?? [])],
  })
  try {
    context.diagnostic(`SVC_TEST_SEED=${random.seed}`)
    await run(await openScene(cluster))
  } finally {
    await cluster.end()
  }
}

test('SIGKILL of a historical during loading, and of what a task needs', async (context) => {
  await withScene(context, {}, async (scene) => {
    await context.test('a historical during loading', async (loading) => {
      await killAtPoints(scene, loading, async (copies) => {
        const victim = pickOne(Object.keys(copies).flatMap((tier) => scene.tiers[tier]!))
        await killAndRestart(scene, victim, 500)
        return victim
      })
    })
    for (const [index, instance] of ['overlord', 'redis', 'overlord', 'redis'].entries())
      await context.test(
        `${instance}, the ${index < 2 ? 'first' : 'second'} time: the task still runs exactly once`,
        (round) => killDuringTask(scene, instance, `flights-${index}`, round),
      )
  })
})

/** Kills what a task needs at a random point, and checks that the task runs exactly once. */
async function killDuringTask(
  scene: Scene,
  instance: string,
  target: string,
  context: TestContext,
): Promise<void> {
  const { cluster } = scene
  const id = await submitTask(cluster.router, flightsTask({ dataSource: target }))
  const afterMs = random.next() * 1500
  await delay(afterMs)
  await killAndRestart(scene, instance, 500)
  await untilTaskSucceeds(cluster.router, id)
  const stored = await storedSegments(cluster.store, target)
  assert.equal(stored.length, flights.days)
  assert.ok(stored.every(({ used }) => used))
  assert.equal(
    stored.reduce((rows, { totalRows }) => rows + totalRows, 0),
    flights.rows,
  )
  context.diagnostic(`after ${Math.round(afterMs)} ms`)
}

/** The coordinators that claim to be the leader. */
async function leadersOf({ at, plan }: TestCluster): Promise<string[]> {
  const coordinators = plan.services.filter(({ role }) => role === 'coordinator')
  const answers = await Promise.all(
    coordinators.map(async ({ instance }) => {
      const answer = await at(instance)
        .send({ path: '/svc/coordinator/v1/isLeader' })
        .catch(() => undefined)
      return answer?.status === 200 ? [instance] : []
    }),
  )
  return answers.flat()
}

/**
 * Waits until a coordinator other than `former` is the leader and the router has found it; returns the leader
 * and the time it took.
 */
async function untilLed(cluster: TestCluster, former?: string): Promise<{ leader: string; tookMs: number }> {
  const began = performance.now()
  const [leader] = await waitUntil(
    'one coordinator is the leader',
    () => leadersOf(cluster),
    (leaders) => leaders.length === 1 && leaders[0] !== former,
    { timeoutMs: 15_000 },
  )
  const tookMs = performance.now() - began
  await waitUntil(
    'the router reaches the leader',
    () => cluster.router.send({ path: '/svc/coordinator/v1/loadstatus' }),
    ({ status }) => status === 200,
  )
  return { leader: leader!, tookMs }
}

const takeoverMs = 10_000

/** Host and port of the coordinator that holds the lease. */
async function leaseHolder({ store }: TestCluster): Promise<string | undefined> {
  const leases = await loadLeases(store)
  return leases.find(({ role }) => role === 'coordinator')?.node
}

test('SIGKILL of the coordinator leader during loading', async (context) => {
  await withScene(context, { instances: 'coordinator=2' }, async (scene) => {
    const { cluster } = scene
    let isEven = false
    await killAtPoints(scene, context, async () => {
      isEven = !isEven
      const { leader: former } = await untilLed(cluster)
      // Every other time the former leader stays down until the other one has taken over.
      if (isEven) await killAndRestart(scene, former, 500)
      else {
        await cluster.kill(former, 'SIGKILL')
        await cluster.stopInstance(former)
      }
      const { leader, tookMs } = await untilLed(cluster, isEven ? undefined : former)
      assert.ok(tookMs < takeoverMs, `the next leader took ${tookMs} ms`)
      cluster.startInstance(former)
      await cluster.waitUntilReady(former)
      return `${former}, then ${leader} led after ${Math.round(tookMs)} ms,`
    })

    await context.test('requests of a former leader are not executed while another one leads', async () => {
      const { leader: former } = await untilLed(cluster)
      const successor = former === 'coordinator' ? 'coordinator-2' : 'coordinator'
      const { pid } = cluster.processes().find(({ instance }) => instance === former)!.process!
      const copies = { hot: 1, _default_tier: 1 }
      await setRules(cluster.router, copies)
      await assertSettled(scene, copies)
      const availability = watchAvailability(scene)
      const redis = await connectToRedis(cluster)
      try {
        // The requests of both leaders wait in front of Redis: the former leader wants the replicas of tier hot
        // dropped, the new one those of the other tier. If both were executed, nothing would be left.
        await redis.client('PAUSE', 60_000, 'WRITE')
        await setRules(cluster.at(former), { _default_tier: 1 })
        await untilDropsAreQueued(cluster.at(former))
        process.kill(pid, 'SIGSTOP')
        // Before the new leader takes over, which must never find anything else to do.
        const rules = JSON.stringify([{ type: 'loadForever', tieredReplicants: { hot: 1 } }])
        await saveRules(
          cluster.store,
          dataSource,
          rules,
          { author: '', comment: '', identity: '', ip: '' },
          Date.now(),
        )
        await waitUntil(
          'the new leader took over',
          () => leaseHolder(cluster),
          (holder) => holder === cluster.nameOf(successor),
          { timeoutMs: takeoverMs },
        )
        await untilDropsAreQueued(cluster.at(successor))
        await redis.client('UNPAUSE')
        process.kill(pid, 'SIGCONT')
        await assertSettled(scene, { hot: 1 })
        assert.equal(availability.fewest(), flights.days, 'a segment was in no cache')
        assert.deepEqual(await leadersOf(cluster), [successor])
      } finally {
        process.kill(pid, 'SIGCONT')
        availability.stop()
        redis.disconnect()
      }
    })
  })
})

/** Waits until a leader is about to request drops. */
async function untilDropsAreQueued(leader: HttpClient): Promise<void> {
  await waitUntil(
    'drops are queued',
    () => leader.get<Record<string, { segmentsToDrop: number }>>('/svc/coordinator/v1/loadqueue?simple'),
    (queues) => Object.values(queues).some(({ segmentsToDrop }) => segmentsToDrop > 0),
  )
}

async function connectToRedis({ settings }: TestCluster): Promise<QueueConnection> {
  const redis = openProducerConnection(settings)
  await waitUntil(
    'Redis answers',
    () => redis.ping(),
    (answer) => answer === 'PONG',
  )
  return redis
}

test('SIGKILL of Redis during loading', async (context) => {
  // One load at a time, so that the queues always contain something to lose.
  const set = ['historical.svc.segmentCache.numLoadingThreads=1']
  await withScene(context, { set }, async (scene) => {
    const { cluster } = scene
    await killAtPoints(scene, context, async () => {
      await killAndRestart(scene, 'redis', 1500)
      return 'redis'
    })

    await context.test('a flushed Redis loses no request either', async () => {
      const redis = await connectToRedis(cluster)
      try {
        const copies = { hot: 2 }
        await moveUpTo(scene, copies, 0.1, 0.3)
        await redis.flushall()
        await assertSettled(scene, copies)
      } finally {
        redis.disconnect()
      }
    })
  })
})
