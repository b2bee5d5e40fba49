// Retention works on real data in the secure profile: the example data set is ingested, rules move its segments
// between two tiers and drop them, and servers serve exactly what is on their disks, even without deep storage.

import assert from 'node:assert/strict'
import { readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { waitUntil } from '@svc/shared/testing'
import { flights, flightsTask } from './support/flights.ts'
import { folderContents } from './support/folder-contents.ts'
import {
  heldBy as heldIn,
  loadStatusPath,
  type RetentionScene,
  testLoadingIntoTwoTiers,
  testMovingAndDropping,
  untilNothingIsMissing,
} from './support/retention-cases.ts'
import { cachedSegments, checksumOf, servedBy, storedSegments } from './support/segments.ts'
import { startTestCluster } from './support/test-cluster.ts'

const { dataSource } = flights
const standard = 'historical-1'

const cluster = await startTestCluster({
  profile: 'secure',
  historicals: 'hot=2,_default_tier=1',
  set: ['coordinator.svc.coordinator.period=PT0.5S'],
})
after(() => cluster.end())
const { router, store, home } = cluster
const scene: RetentionScene = {
  ...cluster,
  hot: ['historical-hot-1', 'historical-hot-2'],
  standard,
  task: flightsTask(),
  deepStorage: async () => folderContents(home.deepStorage),
  cache: async (instance) => folderContents(path.join(home.cache, instance)),
}
const heldBy = (instance: string): Promise<string[]> => heldIn(scene, instance)

testLoadingIntoTwoTiers(scene)

test('loaded segments are served while deep storage is unavailable, even after a restart', async () => {
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
    name: 'a flipped byte without a change of size',
    damage: (file) => {
      const bytes = readFileSync(file)
      const middle = bytes.length >> 1
      bytes[middle] = bytes[middle]! ^ 0xff
      writeFileSync(file, bytes)
    },
  },
  { name: 'a truncated file', damage: (file) => truncateSync(file, 100) },
  { name: 'a missing file', damage: (file) => rmSync(file) },
  {
    name: 'a descriptor that is not JSON',
    damage: (file) => writeFileSync(path.join(path.dirname(file), 'descriptor.json'), '{'),
  },
]

test('a damaged cache entry is detected at startup, not served, and downloaded again', async (context) => {
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
    await context.test('only intact segments are served while deep storage is unavailable', async () => {
      const sound = ids.filter((id) => !damaged.includes(id))
      assert.deepEqual(await servedBy(cluster, standard), sound)
      await waitUntil(
        'the coordinator reports the damaged replicas as missing',
        () => router.get<Record<string, Record<string, number>>>(`${loadStatusPath}?full`),
        (byTier) => byTier._default_tier?.[dataSource] === damaged.length,
      )
      await waitUntil(
        'the log names the segments that cannot be loaded',
        () => cluster.logOf(standard),
        (log) => damaged.every((id) => log.includes(`"segment":"${id}"`)),
      )
    })
  } finally {
    rmSync(home.deepStorage, { recursive: true, force: true })
    renameSync(aside, home.deepStorage)
  }
  await untilNothingIsMissing(scene)
  assert.deepEqual(await heldBy(standard), ids)
  const checksums = new Map(segments.map(({ id, checksum }) => [id, checksum]))
  const again = new Map(cachedSegments(cluster, standard).map((copy) => [copy.id, copy.file]))
  copies.forEach(({ id }, index) => {
    assert.equal(checksumOf(again.get(id)!), checksums.get(id), `after ${damages[index]!.name}`)
  })
})

testMovingAndDropping(scene)
