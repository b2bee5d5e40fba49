// After a change is acknowledged, each explanation takes it into account, whichever server made the change.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { segmentId } from '@svc/domain/segment'
import { storeSegments } from '@svc/shared/testing'
import { startTestCluster } from './support/test-cluster.ts'

const cluster = await startTestCluster({
  profile: 'plain',
  instances: 'coordinator=2',
  // The duties run only once.
  set: ['coordinator.svc.coordinator.period=PT1H'],
})
after(() => cluster.end())
const { router, store } = cluster

const key = { dataSource: 'wiki', interval: { start: 0, end: 86_400_000 }, version: 'v1', partitionNum: 0 }
const id = segmentId(key)
const coordinator = '/svc/coordinator/v1'
// A notification usually takes about as long as the next request, so a single attempt would show little.
const attempts = 25

interface Explanation {
  readonly state: string
  readonly rule?: { readonly rule: { readonly tieredReplicants: Record<string, number> } }
}
const explain = (path: string) => router.get<Explanation>(`${coordinator}${path}/explain`)
const segment = `/datasources/wiki/segments/${encodeURIComponent(id)}`

/** Returns the instance of the coordinator that is not the leader. */
async function standby(): Promise<string> {
  for (const instance of ['coordinator', 'coordinator-2']) {
    const { status } = await cluster.at(instance).send({ path: `${coordinator}/isLeader` })
    if (status === 404) return instance
  }
  throw new Error('Both coordinators are leaders')
}

test('an explanation shows each acknowledged change', async (context) => {
  await storeSegments(store, [{ ...key, id, partitions: 1, sizeBytes: 1, totalRows: 1 }])
  const states: string[] = []

  await context.test('to a segment by the coordinator and the overlord', async () => {
    for (const base of [coordinator, '/svc/indexer/v1'])
      for (let attempt = 0; attempt < attempts; attempt += 1) {
        await router.send({ method: 'DELETE', path: `${base}${segment}` })
        states.push((await explain(segment)).state)
        await router.post(`${base}${segment}`, undefined)
        states.push((await explain(segment)).state)
      }
    assert.deepEqual(states, Array.from({ length: 2 * attempts }, () => ['unused', 'missing']).flat())
  })

  await context.test('to the dynamic configuration by a coordinator that is not the leader', async () => {
    const other = cluster.at(await standby())
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const pauseCoordination = attempt % 2 === 0
      await other.post(`${coordinator}/config`, { pauseCoordination })
      assert.equal((await explain('/cluster')).state === 'paused', pauseCoordination, `attempt ${attempt}`)
    }
  })

  await context.test('to rules', async () => {
    for (let replicas = 1; replicas <= attempts; replicas += 1) {
      await router.post(`${coordinator}/rules/wiki`, [
        { type: 'loadForever', tieredReplicants: { cold: replicas } },
      ])
      assert.deepEqual((await explain(segment)).rule?.rule.tieredReplicants, { cold: replicas })
    }
  })
})
