// Retention tests for clusters of processes and of containers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitUntil } from '@svc/shared/testing'
import { flights, runTask } from './flights.ts'
import type { FoundFile } from './folder-contents.ts'
import { servedBy, servedByInventory, storedSegments } from './segments.ts'
import type { TestCluster } from './test-cluster.ts'

const { dataSource } = flights
export const rulesPath = `/svc/coordinator/v1/rules/${dataSource}`
export const loadStatusPath = '/svc/coordinator/v1/loadstatus'

/**
 * The parts of a cluster that these tests need, with two historicals in the tier `hot` and one in
 * `_default_tier`.
 */
export interface RetentionScene extends Pick<TestCluster, 'router' | 'at' | 'store' | 'nameOf'> {
  readonly hot: readonly [string, string]
  readonly standard: string
  /** The task that ingests the flights. */
  readonly task: object
  /** The files of deep storage, by path relative to its root. */
  deepStorage(): Promise<Record<string, FoundFile>>
  /** The files in the cache of an instance. */
  cache(instance: string): Promise<Record<string, FoundFile>>
}

/** Long enough for a busy machine; a working cluster needs much less. */
const waitOptions = { timeoutMs: 120_000 }

/** A rule that keeps a number of replicas in each tier forever. */
export const load = (tieredReplicants: Record<string, number>): object[] => [
  { type: 'loadForever', tieredReplicants },
]

/** Waits until the coordinator reports no missing replicas in any tier. */
export async function untilNothingIsMissing({ router }: Pick<RetentionScene, 'router'>): Promise<void> {
  await waitUntil(
    'no replica is missing',
    () => router.get<Record<string, Record<string, number>>>(`${loadStatusPath}?full`),
    (byTier) =>
      Object.values(byTier).every((missing) => missing[dataSource] === 0) && Object.keys(byTier).length > 0,
    waitOptions,
  )
}

/** Returns the sizes in bytes of the complete segments in the cache of an instance, by id. */
export async function segmentsInCache(
  scene: RetentionScene,
  instance: string,
): Promise<Map<string, FoundFile>> {
  const files = await scene.cache(instance)
  const descriptors = Object.keys(files).filter((file) => /^segments\/[^/]+\/descriptor\.json$/.test(file))
  const segments = descriptors.map((file): [string, FoundFile] => {
    const { payload } = files[file]!.json as { payload: { identifier: string } }
    return [payload.identifier, files[file.replace('descriptor.json', 'segment.parquet')]!]
  })
  return new Map(segments.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Waits until an instance has a number of segments on disk. */
export async function untilCached(scene: RetentionScene, instance: string, count: number): Promise<void> {
  await waitUntil(
    `${instance} has ${count} segments on disk`,
    async () => (await segmentsInCache(scene, instance)).size,
    (held) => held === count,
    waitOptions,
  )
}

/** Compares disk, announcements, and inventory of an instance; returns the segment ids. */
export async function heldBy(scene: RetentionScene, instance: string): Promise<string[]> {
  const ids = [...(await segmentsInCache(scene, instance)).keys()]
  assert.deepEqual(
    await servedBy(scene, instance),
    ids,
    `${instance} does not serve exactly the segments on its disk`,
  )
  await waitUntil(
    `the coordinator knows what ${instance} serves`,
    () => servedByInventory(scene, instance),
    (served) => JSON.stringify(served) === JSON.stringify(ids),
    waitOptions,
  )
  return ids
}

/** Ingests the data set, and loads it into two tiers. */
export function testLoadingIntoTwoTiers(scene: RetentionScene): void {
  test('the data set becomes one segment a day with all rows', async () => {
    const { router, store } = scene
    await router.post(rulesPath, load({ hot: 1, _default_tier: 1 }), { 'x-svc-author': 'test' })
    await runTask(router, scene.task)
    const segments = await storedSegments(store, dataSource)
    assert.equal(segments.length, flights.days)
    assert.equal(
      segments.reduce((rows, { totalRows }) => rows + totalRows, 0),
      flights.rows,
    )
    assert.ok(segments.every(({ used }) => used))
    const files = await scene.deepStorage()
    for (const { path: file, sizeBytes, checksum } of segments)
      assert.deepEqual(files[file], { sizeBytes, checksum }, file)
    assert.equal(Object.keys(files).length, flights.days, 'deep storage has other files too')
  })

  test('rules that name two tiers load the segments in both, and raise the load status to 100', async () => {
    const { router, store, hot, standard } = scene
    await untilNothingIsMissing(scene)
    assert.deepEqual(await router.get(loadStatusPath), { [dataSource]: 100 })
    assert.deepEqual(await router.get(`${loadStatusPath}?simple`), { [dataSource]: 0 })
    assert.deepEqual(await router.get(`/svc/coordinator/v1/datasources/${dataSource}/loadstatus`), {
      [dataSource]: 100,
    })

    const segments = await storedSegments(store, dataSource)
    const ids = segments.map(({ id }) => id)
    const [first, second] = [await heldBy(scene, hot[0]), await heldBy(scene, hot[1])]
    assert.deepEqual([...first, ...second].sort(), ids, 'the tier does not have every segment once')
    assert.ok(
      first.length > 0 && second.length > 0,
      `the servers do not share the load: ${first.length}, ${second.length}`,
    )
    assert.deepEqual(await heldBy(scene, standard), ids)

    const sizes = new Map(segments.map(({ id, sizeBytes }) => [id, sizeBytes]))
    for (const instance of [...hot, standard]) {
      for (const [id, { sizeBytes }] of await segmentsInCache(scene, instance))
        assert.equal(sizeBytes, sizes.get(id), `${id} at ${instance}`)
    }
    await waitUntil(
      'the broker knows all served segments',
      () => router.get<{ inventoryInitialized: boolean; segmentCount: number }>('/svc/broker/v1/loadstatus'),
      (status) => status.inventoryInitialized && status.segmentCount === ids.length,
      waitOptions,
    )
  })
}

/** Moves everything to one tier, and then drops it. */
export function testMovingAndDropping(scene: RetentionScene): void {
  test('rules that name another tier move everything there', async () => {
    const { router, store, hot, standard } = scene
    await router.post(rulesPath, load({ hot: 2 }))
    await untilCached(scene, standard, 0)
    await untilNothingIsMissing(scene)
    const ids = (await storedSegments(store, dataSource)).map(({ id }) => id)
    for (const instance of hot) assert.deepEqual(await heldBy(scene, instance), ids)
    assert.deepEqual(await heldBy(scene, standard), [])
    assert.deepEqual(await router.get(loadStatusPath), { [dataSource]: 100 })
  })

  test('a drop rule empties the caches but keeps deep storage', async () => {
    const { router, store, hot, standard } = scene
    const before = await scene.deepStorage()
    await router.post(rulesPath, [{ type: 'dropForever' }])
    for (const instance of hot) await untilCached(scene, instance, 0)
    for (const instance of [...hot, standard]) {
      assert.deepEqual(await heldBy(scene, instance), [])
      assert.deepEqual(await scene.cache(instance), {}, `${instance} still has files`)
    }
    assert.deepEqual(await scene.deepStorage(), before)
    const segments = await storedSegments(store, dataSource)
    assert.equal(segments.length, flights.days, 'the metadata changed')
    assert.deepEqual(
      segments.filter(({ used }) => used),
      [],
      'a segment is still used',
    )
    assert.deepEqual(await router.get(loadStatusPath), {}, 'a datasource still has to load')
    const { status } = await router.send({
      path: `/svc/coordinator/v1/datasources/${dataSource}/loadstatus`,
    })
    assert.equal(status, 204)
  })
}
