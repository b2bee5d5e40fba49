import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finish } from '../steps/index.ts'
import {
  decideRequest,
  lackingSegments,
  type PreviewedCluster,
  parsePreviewRequest,
  replicaLaneOf,
  servedFiguresOf,
} from './index.ts'
import { clusterOfDays, testNow, testServer } from './test-preview.ts'

const reader = { canRead: () => true, canReadTiers: true }

const servers = [testServer('hot-1', 'hot'), testServer('hot-2', 'hot'), testServer('cold-1', 'cold')]

/** Daily segments, the newest first, each with a list of the servers that serve it: 0 and 1 are hot, 2 is cold. */
const clusterOf = (rules: readonly object[], servedBy: readonly (readonly number[])[]): PreviewedCluster =>
  clusterOfDays(servers, rules, servedBy)

/** Returns how many segments lack replicas, and which ones. */
function lackOf(cluster: PreviewedCluster) {
  const [{ unserved, underReplicated } = { unserved: -1, underReplicated: -1 }] = finish(
    servedFiguresOf(cluster),
  )
  const request = finish(parsePreviewRequest({ rules: { wiki: [] } }, testNow))
  const { result } = finish(decideRequest(request, cluster, reader))
  return { unserved, underReplicated, lacking: [...lackingSegments(result.outcome.datasources[0]!)] }
}

test('counts and finds segments without all replicas', () => {
  const rules = [
    { type: 'loadByPeriod', period: 'P3D', tieredReplicants: { hot: 2 } },
    { type: 'loadByPeriod', period: 'P5D', tieredReplicants: { cold: 1 } },
    { type: 'dropForever' },
  ]
  const cluster = clusterOf(rules, [[0, 1], [1], [], [2], [], []])
  assert.deepEqual(lackOf(cluster), { unserved: 2, underReplicated: 1, lacking: [0, 1, 1, 0, 1, 0] })
})

test('segments lack replicas that wait for a tier, or that a tier has too few servers for', () => {
  const rules = [
    { type: 'loadByPeriod', period: 'P1D', tieredReplicants: { icy: 1 } },
    { type: 'loadByPeriod', period: 'P2D', tieredReplicants: { cold: 1, icy: 1 } },
    { type: 'loadForever', tieredReplicants: { cold: 2 } },
  ]
  const cluster = clusterOf(rules, [[], [2], [2]])
  assert.deepEqual(lackOf(cluster), { unserved: 1, underReplicated: 2, lacking: [1, 1, 1] })
})

test('the lane of served replicas shows what a tier has too few servers for', () => {
  const cluster = clusterOf([{ type: 'loadForever', tieredReplicants: { cold: 2 } }], [[2], []])
  const request = finish(parsePreviewRequest({ rules: { wiki: [] } }, testNow))
  const { outcome } = finish(decideRequest(request, cluster, reader)).result
  const { extent } = outcome.datasources[0]!.columns
  const axis = { start: extent!.start, widthMs: extent!.end - extent!.start, count: 1 }
  const { served, underReplicated, unserved } = finish(replicaLaneOf(outcome, 'wiki', axis))
  assert.deepEqual(served, [0])
  assert.ok(underReplicated[0]! > 0 && unserved[0]! > 0)
})
