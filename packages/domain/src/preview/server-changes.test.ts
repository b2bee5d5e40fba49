import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finish } from '../steps/index.ts'
import { dayMs } from '../time/index.ts'
import { type PreviewedCluster, previewServerChanges, type ServerChanges } from './index.ts'
import { clusterOfDays, testNow, testServer } from './test-preview.ts'

const nothing: ServerChanges = { failed: [], drained: [], added: [] }

/** Ten days of 10 bytes each. The newest five are on two hot servers, the others on the cold one. */
const clusterOf = (coldBytes = 1000): PreviewedCluster =>
  clusterOfDays(
    [testServer('hot-1', 'hot'), testServer('hot-2', 'hot'), testServer('cold-1', 'cold', coldBytes)],
    [
      { type: 'loadByPeriod', period: 'P5D', tieredReplicants: { hot: 2 } },
      { type: 'loadForever', tieredReplicants: { cold: 1 } },
    ],
    Array.from({ length: 10 }, (_, index) => (index < 5 ? [0, 1] : [2])),
  )

const previewOf = (changes: Partial<ServerChanges>, cluster = clusterOf()) => {
  const { tiers, ...segments } = finish(previewServerChanges(cluster, { ...nothing, ...changes }))
  return { ...segments, ...Object.fromEntries(tiers.map((tier) => [tier.name, tier])) } as {
    readonly unavailableSegments: number
    readonly unloadableSegments: number
    readonly underReplicatedSegments: number
    readonly hot: (typeof tiers)[number]
    readonly cold: (typeof tiers)[number]
    readonly icy?: (typeof tiers)[number]
  }
}

test('without a change, nothing is loaded and everything fits', () => {
  const { hot, cold, unavailableSegments, unloadableSegments } = previewOf({})
  assert.deepEqual([unavailableSegments, unloadableSegments], [0, 0])
  assert.deepEqual(hot, {
    name: 'hot',
    serversBefore: 2,
    serversAfter: 2,
    capacityBytesBefore: 2000,
    capacityBytesAfter: 2000,
    bytesBefore: 100,
    bytesAfter: 100,
    loaded: { segments: 0, copies: 0, bytes: 0 },
    doesNotFit: { segments: 0, copies: 0, bytes: 0 },
    fullAt: undefined,
  })
  assert.deepEqual([cold.bytesBefore, cold.bytesAfter], [50, 50])
})

test('a failed server leaves segments unavailable that no other server has', () => {
  const { cold, hot, unavailableSegments, unloadableSegments } = previewOf({
    failed: ['cold-1'],
    added: [testServer('cold-2', 'cold', 40)],
  })
  // One of the five does not fit on the added server.
  assert.deepEqual([unavailableSegments, unloadableSegments], [5, 1])
  assert.deepEqual([cold.serversBefore, cold.serversAfter], [1, 1])
  assert.deepEqual([cold.loaded.copies, cold.doesNotFit.bytes, cold.fullAt], [4, 10, testNow])
  assert.deepEqual(hot.loaded.copies, 0)
})

test('a drained server keeps its segments available, and they are loaded elsewhere', () => {
  const { hot, unavailableSegments } = previewOf({ drained: ['hot-2'], added: [testServer('hot-3', 'hot')] })
  assert.equal(unavailableSegments, 0)
  assert.deepEqual(hot.loaded, { segments: 5, copies: 5, bytes: 50 })
  assert.deepEqual([hot.serversAfter, hot.bytesAfter], [2, 100])
})

test('segments are under-replicated if a tier has fewer servers than its rule requires replicas', () => {
  for (const changes of [{ failed: ['hot-2'] }, { drained: ['hot-2'] }]) {
    const { underReplicatedSegments, unavailableSegments, unloadableSegments } = previewOf(changes)
    assert.deepEqual([underReplicatedSegments, unavailableSegments, unloadableSegments], [5, 0, 0])
  }
  assert.equal(
    previewOf({ failed: ['hot-2'], added: [testServer('hot-3', 'hot')] }).underReplicatedSegments,
    0,
  )
})

test('a tier that loses its servers has no replicas afterward', () => {
  const { cold, unavailableSegments, unloadableSegments } = previewOf({ failed: ['cold-1'] })
  assert.deepEqual([unavailableSegments, unloadableSegments], [5, 5])
  assert.deepEqual([cold.serversAfter, cold.capacityBytesAfter, cold.bytesAfter], [0, 0, 0])
})

test('segments stay on drained servers if no other server can load them', () => {
  const { unavailableSegments, unloadableSegments } = previewOf({ drained: ['cold-1'] })
  assert.deepEqual([unavailableSegments, unloadableSegments], [0, 5])
})

test('segments that no server can load anyway are not a consequence of the changes', () => {
  const servers = [testServer('hot-1', 'hot'), testServer('cold-1', 'cold', 20)]
  const rules = [
    { type: 'loadByPeriod', period: 'P5D', tieredReplicants: { hot: 1 } },
    { type: 'loadForever', tieredReplicants: { cold: 1 } },
  ]
  const served = Array.from({ length: 10 }, (_, index) => (index < 5 ? [0] : index < 7 ? [1] : []))
  const cluster = clusterOfDays(servers, rules, served)
  assert.equal(previewOf({ failed: ['cold-1'] }, cluster).unloadableSegments, 2)
  assert.equal(previewOf({ failed: ['hot-1'] }, cluster).unloadableSegments, 5)
})

test('shows the day on which a tier is full, and that an added server prevents that', () => {
  // 50 bytes now, and 10 more each day.
  assert.equal(previewOf({}, clusterOf(75)).cold.fullAt, testNow + 3 * dayMs)
  assert.equal(previewOf({}, clusterOf(50)).cold.fullAt, testNow + dayMs)
  assert.equal(previewOf({ added: [testServer('cold-2', 'cold', 75)] }, clusterOf(75)).cold.fullAt, undefined)
})

test('a new tier is one without replicas until a rule names it', () => {
  const { icy } = previewOf({ added: [testServer('icy-1', 'icy', 500)] })
  assert.deepEqual([icy?.serversBefore, icy?.capacityBytesAfter, icy?.bytesAfter], [0, 500, 0])
})
