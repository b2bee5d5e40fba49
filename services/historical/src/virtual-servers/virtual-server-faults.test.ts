import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { type FaultRequest, switchOn } from '@svc/domain/faults'
import { payloadOf, segmentId, virtualLoadSpec } from '@svc/domain/segment'
import { faultsConfigName, followFaults } from '@svc/shared/faults'
import { saveConfig } from '@svc/shared/postgres'
import { createRequestSender, openProducerConnection } from '@svc/shared/redis'
import type { ServerReport } from '@svc/shared/segment-serving'
import { createTestContext, createTestStores, startReportTaker, waitUntil } from '@svc/shared/testing'
import { createVirtualServers } from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores

/** The last report of each server, and the number of its reports. */
const last = new Map<string, ServerReport>()
// The last report of each server with all its segments; most reports only have changes.
const complete = new Map<string, ServerReport>()
const counts = new Map<string, number>()
/** What each server serves, as the leader knows it. */
const known = new Map<string, Set<string>>()
await startReportTaker({ after }, stores, async ({ servers }) => {
  for (const report of servers) {
    const { name, segments, changes } = report
    last.set(name, report)
    if (segments) complete.set(name, report)
    counts.set(name, (counts.get(name) ?? 0) + 1)
    const served = segments ? new Set(segments) : (known.get(name) ?? new Set())
    for (const { id, change } of changes) change === 'loaded' ? served.add(id) : served.delete(id)
    known.set(name, served)
  }
  return { term: 5, resync: [], voidUntilMs: {} }
})
const groups = ['a:1', 'b:1'].map((name) => ({ name, tier: 'hot', size: '1g' }))
const bare = await createTestContext({ after }, stores, 'historical', {
  'svc.simulation.enabled': 'true',
  'svc.simulation.virtualServers': JSON.stringify(groups),
})
const faults = followFaults(database, bare.logger, bare.node, () => assert.fail('the process was killed'))
const servers = createVirtualServers({ ...bare, faults })
const redis = openProducerConnection(bare.settings)
const sender = createRequestSender(redis, bare.settings.get('svc.queue.prefix'))
after(async () => {
  bare.beginToStop()
  await servers.stop()
  await faults.stop()
  await sender.close()
  redis.disconnect()
})
await servers.start()

let revision = 0
const audit = { author: 'test', comment: '', identity: '', ip: '' }
const keep = (list: readonly object[]) =>
  saveConfig(database, faultsConfigName, JSON.stringify(list), revision++, audit, Date.now())
const requestFault = (request: Pick<FaultRequest, 'kind'> & Partial<FaultRequest>) =>
  keep([
    switchOn(
      { target: 'a:1', from: null, probability: 1, delayMs: 1, forMs: null, ...request },
      `f${revision}`,
      Date.now(),
    ),
  ])
afterEach(() => keep([]))

const segmentOf = (number: number) => {
  const key = {
    dataSource: 'wiki',
    interval: { start: number * 1000, end: number * 1000 + 1000 },
    version: '2026-01-01T00:00:00.000Z',
    partitionNum: 0,
  }
  const segment = { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10, totalRows: 1 }
  const payload = payloadOf(segment, { loadSpec: virtualLoadSpec, dimensions: '', metrics: '' })
  return { ...segment, payload: JSON.stringify(payload) }
}
let segments = 0
/** Requests a server to load another segment. Returns the segment's id. */
async function load(server: string): Promise<string> {
  const { id, sizeBytes, payload } = segmentOf(++segments)
  const { session } = last.get(server) as ServerReport
  const requests = [{ action: 'load', id, sizeBytes, payload }] as const
  await sender.send(bare.node().name, { term: 5, session, server, sentAtMs: 1, requests })
  return id
}
const isKnown = (server: string, id: string) => known.get(server)?.has(id) === true
/** Checks that the other server keeps working: it loads a segment and reports it to the leader. */
async function otherStillServes(): Promise<void> {
  const id = await load('b:1')
  await waitUntil('the other server has loaded', () => isKnown('b:1', id))
}

describe('a fault of one virtual server', () => {
  it('of the kind cut hides it and its segments until the fault ends', async () => {
    const id = await load('a:1')
    await waitUntil('it has loaded', () => isKnown('a:1', id))
    await requestFault({ kind: 'cut' })
    await waitUntil('its segments are hidden', () => !servers.served.ids().includes(id))
    const reports = counts.get('a:1')
    await otherStillServes()
    await otherStillServes()
    assert.equal(counts.get('a:1'), reports)
    await keep([])
    await waitUntil('it reports again', () => counts.get('a:1') !== reports)
    assert.ok(servers.served.ids().includes(id) && isKnown('a:1', id))
  })

  it('of the kind kill drops its queue, and it restarts with its segments', async () => {
    const id = await load('a:1')
    await waitUntil('it has loaded', () => isKnown('a:1', id))
    const { session } = last.get('a:1') as ServerReport
    await requestFault({ kind: 'kill' })
    await waitUntil('its segments are hidden', () => !servers.served.ids().includes(id))
    await otherStillServes()
    await waitUntil('it has restarted', () => complete.get('a:1')?.session !== session)
    const report = complete.get('a:1') as ServerReport
    assert.ok(report.segments?.includes(id))
    assert.equal(report.usedSizeBytes, 10 * (report.segments?.length ?? 0))
    assert.ok(servers.served.ids().includes(id))
    const next = await load('a:1')
    await waitUntil('it handles requests again', () => isKnown('a:1', next))
  })

  for (const kind of ['latency', 'slow-disk'] as const) {
    it(`of the kind ${kind} delays its loads`, async () => {
      await requestFault({ kind, delayMs: 600_000 })
      const wait = () =>
        kind === 'latency' ? faults.at('a:1').requestDelayMs() : faults.at('a:1').diskDelayMs()
      await waitUntil('the fault is active', () => wait() === 600_000)
      const id = await load('a:1')
      await otherStillServes()
      await otherStillServes()
      assert.equal(isKnown('a:1', id), false)
      // Killing it clears its queue for the next test.
      await requestFault({ kind: 'kill' })
      const { session } = last.get('a:1') as ServerReport
      await waitUntil('it has restarted', () => last.get('a:1')?.session !== session)
    })
  }
})
