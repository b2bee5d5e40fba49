// Proves the main job on real data, secure profile: the shipped data set is ingested, rules move its bytes between two
// tiers and out again, and what the servers say they serve is what lies on their disks, even without deep storage.
import assert from 'node:assert/strict'
import { readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { flights, flightsTask, runTask } from './support/flights.ts'
import {
  cachedSegments,
  checksumOf,
  filesIn,
  servedBy,
  servedByInventory,
  storedSegments,
} from './support/segments.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { waitUntil } from './support/wait-until.ts'

const { dataSource } = flights
const hot = ['historical-hot-1', 'historical-hot-2']
const standard = 'historical-1'
const rulesPath = `/svc/coordinator/v1/rules/${dataSource}`
const loadStatusPath = '/svc/coordinator/v1/loadstatus'

const cluster = await startTestCluster({
  profile: 'secure',
  historicals: 'hot=2,_default_tier=1',
  set: ['coordinator.svc.coordinator.period=PT0.5S'],
})
after(() => cluster.end())
const { router, store, home } = cluster

const load = (tieredReplicants: Record<string, number>) => [{ type: 'loadForever', tieredReplicants }]

/** Waits until the coordinator misses no copy in any tier. */
async function untilNothingIsMissing(): Promise<void> {
  await waitUntil(
    'no copy is missing',
    () => router.get<Record<string, Record<string, number>>>(`${loadStatusPath}?full`),
    (byTier) =>
      Object.values(byTier).every((missing) => missing[dataSource] === 0) && Object.keys(byTier).length > 0,
  )
}

/** Waits until the disk of an instance holds so many segments. */
async function untilCached(instance: string, count: number): Promise<void> {
  await waitUntil(
    `${instance} holds ${count} segments`,
    () => cachedSegments(cluster, instance).length,
    (held) => held === count,
  )
}

/** Compares disk, announcement and inventory of an instance; returns the ids. */
async function heldBy(instance: string): Promise<string[]> {
  const ids = cachedSegments(cluster, instance).map(({ id }) => id)
  assert.deepEqual(await servedBy(cluster, instance), ids, `${instance} serves what lies on its disk`)
  await waitUntil(
    `the coordinator knows what ${instance} serves`,
    () => servedByInventory(cluster, instance),
    (served) => JSON.stringify(served) === JSON.stringify(ids),
  )
  return ids
}

test('the data set becomes one segment a day, with all its rows', async () => {
  await router.post(rulesPath, load({ hot: 1, _default_tier: 1 }), { 'x-svc-author': 'test' })
  await runTask(router, flightsTask())
  const segments = await storedSegments(store, dataSource)
  assert.equal(segments.length, flights.days)
  assert.equal(
    segments.reduce((rows, { totalRows }) => rows + totalRows, 0),
    flights.rows,
  )
  assert.ok(segments.every(({ used }) => used))
  const files = filesIn(home.deepStorage)
  for (const { path: file, sizeBytes, checksum } of segments) {
    assert.equal(files[file], sizeBytes, file)
    assert.equal(checksumOf(path.join(home.deepStorage, file)), checksum)
  }
  assert.equal(Object.keys(files).length, flights.days, 'deep storage holds nothing else')
})

test('rules that name two tiers bring the bytes into both, and the load status to 100', async () => {
  await untilNothingIsMissing()
  assert.deepEqual(await router.get(loadStatusPath), { [dataSource]: 100 })
  assert.deepEqual(await router.get(`${loadStatusPath}?simple`), { [dataSource]: 0 })
  assert.deepEqual(await router.get(`/svc/coordinator/v1/datasources/${dataSource}/loadstatus`), {
    [dataSource]: 100,
  })

  const segments = await storedSegments(store, dataSource)
  const ids = segments.map(({ id }) => id)
  const [first, second] = [await heldBy(hot[0]!), await heldBy(hot[1]!)]
  assert.deepEqual([...first, ...second].sort(), ids, 'the tier holds every segment once')
  assert.ok(
    first.length > 0 && second.length > 0,
    `both servers share the load: ${first.length}, ${second.length}`,
  )
  assert.deepEqual(await heldBy(standard), ids)

  const sizes = new Map(segments.map(({ id, sizeBytes }) => [id, sizeBytes]))
  for (const instance of [...hot, standard]) {
    for (const { id, file, sizeBytes } of cachedSegments(cluster, instance)) {
      assert.equal(sizeBytes, sizes.get(id), file)
    }
  }
  await waitUntil(
    'the broker knows all that is served',
    () => router.get<{ inventoryInitialized: boolean; segmentCount: number }>('/svc/broker/v1/loadstatus'),
    (status) => status.inventoryInitialized && status.segmentCount === ids.length,
  )
})

test('with deep storage out of reach, what is loaded is served, also after a restart', async () => {
  const before = await heldBy(standard)
  const aside = `${home.deepStorage}-aside`
  renameSync(home.deepStorage, aside)
  try {
    await cluster.kill(standard, 'SIGTERM')
    await cluster.waitUntilReady(standard)
    assert.deepEqual(await heldBy(standard), before)
    assert.deepEqual(await router.get(loadStatusPath), { [dataSource]: 100 })
    for (const { file } of cachedSegments(cluster, standard))
      assert.equal(readFileSync(file).toString('latin1', 0, 4), 'PAR1')
  } finally {
    rmSync(home.deepStorage, { recursive: true, force: true })
    renameSync(aside, home.deepStorage)
  }
})

const damages: { name: string; damage: (file: string) => void }[] = [
  {
    name: 'a flipped byte, the size unchanged',
    damage: (file) => {
      const bytes = readFileSync(file)
      const middle = bytes.length >> 1
      bytes[middle] = bytes[middle]! ^ 0xff
      writeFileSync(file, bytes)
    },
  },
  { name: 'a cut end', damage: (file) => truncateSync(file, 100) },
  { name: 'a missing file', damage: (file) => rmSync(file) },
  {
    name: 'a descriptor that is no JSON',
    damage: (file) => writeFileSync(path.join(path.dirname(file), 'descriptor.json'), '{'),
  },
]

test('a damaged cache is noticed at the start, not served, and fetched again', async (context) => {
  const segments = await storedSegments(store, dataSource)
  const ids = segments.map(({ id }) => id)
  await cluster.stopInstance(standard)
  const aside = `${home.deepStorage}-aside`
  const copies = cachedSegments(cluster, standard).slice(0, damages.length)
  renameSync(home.deepStorage, aside)
  try {
    for (const [index, { damage }] of damages.entries()) damage(copies[index]!.file)
    cluster.startInstance(standard)
    await cluster.waitUntilReady(standard)
    const damaged = copies.map(({ id }) => id)
    await context.test('while deep storage is away, only the sound ones are served', async () => {
      const sound = ids.filter((id) => !damaged.includes(id))
      assert.deepEqual(await servedBy(cluster, standard), sound)
      await waitUntil(
        'the coordinator counts the damaged copies as missing',
        () => router.get<Record<string, Record<string, number>>>(`${loadStatusPath}?full`),
        (byTier) => byTier._default_tier?.[dataSource] === damaged.length,
      )
      await waitUntil(
        'the log tells what cannot be loaded',
        () => cluster.logOf(standard),
        (log) => damaged.every((id) => log.includes(`"segment":"${id}"`)),
      )
    })
  } finally {
    rmSync(home.deepStorage, { recursive: true, force: true })
    renameSync(aside, home.deepStorage)
  }
  await untilNothingIsMissing()
  assert.deepEqual(await heldBy(standard), ids)
  const checksums = new Map(segments.map(({ id, checksum }) => [id, checksum]))
  const again = new Map(cachedSegments(cluster, standard).map((copy) => [copy.id, copy.file]))
  copies.forEach(({ id }, index) => {
    assert.equal(checksumOf(again.get(id)!), checksums.get(id), `after ${damages[index]!.name}`)
  })
})

test('rules that name another tier move everything there', async () => {
  await router.post(rulesPath, load({ hot: 2 }))
  await untilCached(standard, 0)
  await untilNothingIsMissing()
  const ids = (await storedSegments(store, dataSource)).map(({ id }) => id)
  for (const instance of hot) assert.deepEqual(await heldBy(instance), ids)
  assert.deepEqual(await heldBy(standard), [])
  assert.deepEqual(await router.get(loadStatusPath), { [dataSource]: 100 })
})

test('a drop rule empties the caches and leaves deep storage', async () => {
  const before = filesIn(home.deepStorage)
  await router.post(rulesPath, [{ type: 'dropForever' }])
  for (const instance of hot) await untilCached(instance, 0)
  for (const instance of [...hot, standard]) {
    assert.deepEqual(await heldBy(instance), [])
    assert.deepEqual(filesIn(path.join(home.cache, instance)), {}, `${instance} keeps no bytes`)
  }
  assert.deepEqual(filesIn(home.deepStorage), before)
  const segments = await storedSegments(store, dataSource)
  assert.equal(segments.length, flights.days, 'the metadata stays')
  assert.deepEqual(
    segments.filter(({ used }) => used),
    [],
    'nothing is used any more',
  )
  assert.deepEqual(await router.get(loadStatusPath), {}, 'no datasource is left to load')
  const { status } = await router.send({ path: `/svc/coordinator/v1/datasources/${dataSource}/loadstatus` })
  assert.equal(status, 204)
})
