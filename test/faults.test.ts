// Proves that nothing is lost when processes die: a historical, the leading coordinator and Redis are killed at random
// points while rules move every segment, and each time the end state is exactly what the rules ask for; a task whose
// overlord or queue is killed is done once all the same. SVC_TEST_KILLS is the number of points, SVC_TEST_SEED where
// they lie.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { loadLeases, saveRules } from '@svc/shared/postgres'
import { openProducerConnection, type QueueConnection } from '@svc/shared/redis'
import { flights, flightsTask, runTask, submitTask, untilTaskSucceeds } from './support/flights.ts'
import type { HttpClient } from './support/http-client.ts'
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
import { waitUntil } from './support/wait-until.ts'

const points = Number(process.env.SVC_TEST_KILLS ?? 4)
const { dataSource } = flights
const random = seededRandom()

type Copies = Readonly<Record<string, number>>

/** A cluster with the data set loaded, and what must never change in it. */
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
  // Rules first: the cluster's default would load the segments before the first one is wanted.
  await setRules(cluster.router, { nowhere: 1 })
  await runTask(cluster.router, flightsTask())
  const segments = await storedSegments(cluster.store, dataSource)
  assert.equal(segments.length, flights.days)
  return { cluster, tiers, segments, deepStorage: filesIn(cluster.home.deepStorage) }
}

async function setRules(at: HttpClient, copies: Copies): Promise<void> {
  const rules = [{ type: 'loadForever', tieredReplicants: copies }]
  await waitUntil(
    'the rules are taken',
    () => at.send({ method: 'POST', path: `/svc/coordinator/v1/rules/${dataSource}`, json: rules }),
    ({ status }) => status === 200,
  )
}

/** Starts to move all segments and returns when a random part of the copies has come; the share lies in [from, to). */
async function moveUpTo({ cluster, tiers, segments }: Scene, copies: Copies, from: number, to: number) {
  const share = from + random.next() * (to - from)
  const missing = () => missingCopies({ cluster, tiers, segments }, copies)
  const missingAtFirst = missing()
  assert.ok(missingAtFirst >= segments.length, `only ${missingAtFirst} copies are to be loaded`)
  const most = missingAtFirst - Math.floor(share * missingAtFirst)
  await setRules(cluster.router, copies)
  await waitUntil(`at most ${most} copies are missing`, missing, (count) => count <= most, { pollMs: 1 })
  await delay(random.next() * 20)
  return { missing: missing(), missingAtFirst }
}

/** How many copies the rules ask for that lie in no cache of their tier; quick, for it is asked all the time. */
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

/** How many copies of each segment lie in a tier, where that is not what the rules ask for. */
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

/** Waits until the leader has run its rules that many times more. */
async function untilRulesRan({ router }: TestCluster, times: number): Promise<void> {
  const runs = async (): Promise<number> => {
    const { dutyGroups } = await router.get<DutiesAnswer>('/svc/coordinator/v1/duties')
    return dutyGroups.find(({ name }) => name === 'HistoricalManagementDuties')?.runs ?? 0
  }
  const before = await runs()
  await waitUntil('the duties run', runs, (count) => count >= before + times)
}

/** Waits for the state that the rules ask for, which must last, and proves that nothing was lost on the way. */
async function assertSettled(scene: Scene, copies: Copies): Promise<void> {
  const { cluster, tiers, segments, deepStorage } = scene
  const instances = Object.values(tiers).flat()
  for (const instance of instances) await cluster.waitUntilReady(instance)
  // Copies may still move between the servers of a tier, with one too many in the meantime, until that is at rest too.
  await waitUntil(
    'the state that the rules ask for lasts',
    async () => {
      const before = await unsettled(scene, copies)
      if (before !== undefined) return before
      const held = JSON.stringify(instances.map((instance) => cachedSegments(cluster, instance)))
      await untilRulesRan(cluster, 2)
      const isSame = held === JSON.stringify(instances.map((instance) => cachedSegments(cluster, instance)))
      return isSame ? await unsettled(scene, copies) : 'copies moved'
    },
    (found) => found === undefined,
    { timeoutMs: 60_000 },
  )
  assert.deepEqual(await storedSegments(cluster.store, dataSource), segments, 'the metadata is what it was')
  assert.deepEqual(filesIn(cluster.home.deepStorage), deepStorage, 'deep storage is what it was')
  const checksums = new Map(segments.map(({ id, checksum }) => [id, checksum]))
  for (const instance of instances) {
    for (const { id, file } of cachedSegments(cluster, instance)) {
      assert.equal(checksumOf(file), checksums.get(id), file)
    }
  }
}

/** What is not yet as the rules ask for, or not known to be; undefined where all is. */
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
  if (!Object.keys(tiers).every((tier) => byTier[tier]?.[dataSource] === 0)) return { byTier }
  const queues = await router.get<Record<string, Record<string, number>>>(
    '/svc/coordinator/v1/loadqueue?simple',
  )
  const isQueued = Object.values(queues).some((queue) => Object.values(queue).some((count) => count > 0))
  return isQueued ? { queues } : undefined
}

/** Kills a process, leaves it down for a random time of up to `longestMs`, and starts it again. */
async function killAndRestart({ cluster }: Scene, instance: string, longestMs: number): Promise<void> {
  await cluster.kill(instance, 'SIGKILL')
  await cluster.stopInstance(instance)
  await delay(random.next() * longestMs)
  cluster.startInstance(instance)
}

/** Rules of which each one needs a whole set of copies that the one before it did not, also around the end. */
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
 * Looks all the time whether every segment lies in some cache, as it must once it was loaded; returns what tells the
 * fewest that were seen.
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
    // A segment may move from a folder not looked at yet to one that was: then the second look finds it.
    if (count() < flights.days) fewest = Math.min(fewest, count())
  }, 20)
  return { fewest: () => Math.min(fewest, count()), stop: () => clearInterval(timer) }
}

/** Runs ten rounds, each with a death at a point of its own tenth of the loading. */
async function strikeAtPoints(
  scene: Scene,
  context: TestContext,
  strike: (copies: Copies) => Promise<string>,
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
      const struck = await strike(copies)
      await assertSettled(scene, copies)
      roundContext.diagnostic(`${struck} with ${moved.missing} of ${moved.missingAtFirst} copies missing`)
      assert.equal(availability.fewest(), flights.days, 'every segment always lay in some cache')
    })
  }
  availability.stop()
  assert.ok(
    duringLoading >= points / 2,
    `only ${duringLoading} of ${points} deaths came while copies were missing`,
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

test('SIGKILL of a historical during loading', async (context) => {
  await withScene(context, {}, async (scene) => {
    await strikeAtPoints(scene, context, async (copies) => {
      const victim = pickOne(Object.keys(copies).flatMap((tier) => scene.tiers[tier]!))
      await killAndRestart(scene, victim, 500)
      return victim
    })
  })
})

/** The instances of coordinators that say they lead. */
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

/** Waits until a coordinator leads that is not `former`, and the router has found it; returns who and how long it took. */
async function untilLed(cluster: TestCluster, former?: string): Promise<{ leader: string; tookMs: number }> {
  const began = performance.now()
  const [leader] = await waitUntil(
    'one coordinator leads',
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

/** Host and port of the coordinator that has the lease. */
async function leaseHolder({ store }: TestCluster): Promise<string | undefined> {
  const leases = await loadLeases(store)
  return leases.find(({ role }) => role === 'coordinator')?.node
}

test('SIGKILL of the leading coordinator during loading', async (context) => {
  await withScene(context, { instances: 'coordinator=2' }, async (scene) => {
    const { cluster } = scene
    let isEven = false
    await strikeAtPoints(scene, context, async () => {
      isEven = !isEven
      const { leader: former } = await untilLed(cluster)
      // Each second time the former leader stays away until the other one has taken over.
      if (isEven) await killAndRestart(scene, former, 500)
      else {
        await cluster.kill(former, 'SIGKILL')
        await cluster.stopInstance(former)
      }
      const { leader, tookMs } = await untilLed(cluster, isEven ? undefined : former)
      assert.ok(tookMs < takeoverMs, `a leader was back after ${tookMs} ms`)
      cluster.startInstance(former)
      await cluster.waitUntilReady(former)
      return `${former}, then ${leader} led after ${Math.round(tookMs)} ms,`
    })

    await context.test('what a former leader asks for, while another one leads, is not done', async () => {
      const { leader: former } = await untilLed(cluster)
      const successor = former === 'coordinator' ? 'coordinator-2' : 'coordinator'
      const { pid } = cluster.processes().find(({ instance }) => instance === former)!.process!
      const copies = { hot: 1, _default_tier: 1 }
      await setRules(cluster.router, copies)
      await assertSettled(scene, copies)
      const availability = watchAvailability(scene)
      const redis = await connectToRedis(cluster)
      try {
        // Requests of both leaders wait before Redis: the former wants copies of hot dropped, the other one those of
        // the other tier. Where both got their way, nothing would be left.
        await redis.client('PAUSE', 60_000, 'WRITE')
        await setRules(cluster.at(former), { _default_tier: 1 })
        await untilDropsAreQueued(cluster.at(former))
        process.kill(pid, 'SIGSTOP')
        // Before the other one leads, which is to want nothing else at any time.
        const rules = JSON.stringify([{ type: 'loadForever', tieredReplicants: { hot: 1 } }])
        await saveRules(
          cluster.store,
          dataSource,
          rules,
          { author: '', comment: '', identity: '', ip: '' },
          Date.now(),
        )
        await waitUntil(
          'the other one leads',
          () => leaseHolder(cluster),
          (holder) => holder === cluster.nameOf(successor),
          { timeoutMs: takeoverMs },
        )
        await untilDropsAreQueued(cluster.at(successor))
        await redis.client('UNPAUSE')
        process.kill(pid, 'SIGCONT')
        await assertSettled(scene, { hot: 1 })
        assert.equal(availability.fewest(), flights.days, 'every segment always lay in some cache')
        assert.deepEqual(await leadersOf(cluster), [successor])
      } finally {
        process.kill(pid, 'SIGCONT')
        availability.stop()
        redis.disconnect()
      }
    })
  })
})

/** Waits until a leader is about to ask for drops. */
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
  // One at a time, so that there is always something in the queues that can be lost.
  const set = ['historical.svc.segmentCache.numLoadingThreads=1']
  await withScene(context, { set }, async (scene) => {
    const { cluster } = scene
    await strikeAtPoints(scene, context, async () => {
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

test('SIGKILL of what a task needs: it is done once, in the end', async (context) => {
  await withScene(context, {}, async (scene) => {
    const { cluster } = scene
    for (const [index, instance] of ['overlord', 'redis', 'overlord', 'redis'].entries()) {
      await context.test(`${instance}, the ${index < 2 ? 'first' : 'second'} time`, async (roundContext) => {
        const target = `flights-${index}`
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
        roundContext.diagnostic(`after ${Math.round(afterMs)} ms`)
      })
    }
  })
})
