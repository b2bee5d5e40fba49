import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { Report } from '@svc/shared/segment-serving'
import {
  createTestContext,
  createTestStores,
  httpRequest,
  startReportTaker,
  temporaryFolder,
  waitUntil,
} from '@svc/shared/testing'
import { createVirtualServers, virtualServerRoutes } from './index.ts'
import { VirtualCluster } from './virtual-cluster.ts'
import { readPlacement, writePlacement } from './virtual-placement.ts'

const stores = await createTestStores({ after })
const path = '/svc/historical/v1/virtualServers'

const reports: Report[] = []
let term = 5
/** The leader waits for this before it responds to a report. */
let answering = Promise.resolve()
await startReportTaker({ after }, stores, async (report) => {
  reports.push(report)
  await answering
  return { term, resync: [], voidUntilMs: {} }
})

// Stopping writes the placement file, so it comes before its folder is removed.
after(async () => {
  context.beginToStop()
  await servers.stop()
})
const placementFile = join(temporaryFolder({ after }), 'placement.jsonl')
writeFileSync(
  placementFile,
  [
    { server: 'a:1', segments: [['one', 10]] },
    { server: 'a:1', segments: [['two', 20]] },
    { server: 'gone:1', segments: [['one', 10]] },
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join(''),
)

const context = await createTestContext({ after }, stores, 'historical', {
  'svc.simulation.enabled': 'true',
  'svc.simulation.virtualServers':
    '[{"count":2,"tier":"hot","size":"1g"},{"name":"a:1","tier":"cold","size":"1g"}]',
  'svc.simulation.placementFile': placementFile,
})
const servers = createVirtualServers(context)
await context.serve({ routes: virtualServerRoutes(servers) })
await servers.start()

const change = async (groups: readonly object[]): Promise<number> =>
  (await httpRequest(context.port, { method: 'POST', path, body: groups })).status

const names = (list: readonly { readonly name: string }[] = []) => list.map(({ name }) => name)

describe('virtual servers with a placement file', () => {
  it('have its segments when they start', () => {
    const found = reports.flatMap(({ servers: some }) => some).find(({ name }) => name === 'a:1')
    assert.deepEqual([found?.segments, found?.usedSizeBytes], [['one', 'two'], 30])
    assert.equal(servers.served.ids().includes('two'), true)
  })

  it('write their segments to it when they stop', async () => {
    const cluster = new VirtualCluster()
    await readPlacement(cluster, placementFile)
    cluster.replace(servers.groups(), 'p')
    await readPlacement(cluster, placementFile)
    const a = cluster.get('a:1')
    assert.ok(a)
    cluster.drop(a, cluster.numbers.find('one'))
    const written = `${placementFile}.again`
    await writePlacement(cluster, written)
    assert.equal(readFileSync(written, 'utf8'), '{"server":"a:1","segments":[["two",20]]}\n')
    await readPlacement(cluster, join(placementFile, '..', 'missing'))
  })
})

describe('replacing virtual servers', () => {
  it('succeeds if nothing changes, with and without servers', async () => {
    const present = [{ count: 2, tier: 'hot', size: '1g' }]
    assert.equal(await change(present), 200)
    assert.equal(await change(present), 200)
    assert.equal(await change([]), 200)
    const reportCount = reports.length
    assert.equal(await change([]), 200)
    assert.equal(reports.length, reportCount, 'there was nothing to report')
  })

  it('announces servers that do not fit in a report, and reports them in the next one', async () => {
    const reportCount = reports.length
    assert.equal(await change([{ count: 6000, tier: 'hot', size: '1g' }]), 200)
    const [first, second] = reports.slice(reportCount)
    assert.equal(first?.servers.length, 5000)
    const awaited = names(first?.awaited)
    assert.equal(new Set([...awaited, ...names(first?.servers)]).size, 6000)
    assert.deepEqual(
      awaited.filter((name) => !names(second?.servers).includes(name)),
      [],
    )
    assert.deepEqual(second?.awaited, [])
  })

  it('reports all servers to a new leader immediately', async () => {
    // The new leader may already respond to a report that is in flight.
    const reportCount = reports.length - 1
    term = 6
    const reported = () => reports.slice(reportCount)
    await waitUntil(
      'all are reported',
      () => new Set(reported().flatMap(({ servers: some }) => names(some))).size === 6000,
    )
    assert.ok(reported().length <= 4, `it took ${reported().length} reports`)
  })

  it('succeeds for concurrent requests', async () => {
    let answer = (): void => undefined
    answering = new Promise((resolve) => {
      answer = resolve
    })
    const reportCount = reports.length
    const first = change([{ count: 1, tier: 'hot', size: '1g' }])
    await waitUntil('the first servers are reported', () => reports.length > reportCount)
    const second = change([{ count: 1, tier: 'cold', size: '1g' }])
    await waitUntil('the second servers exist', () => servers.groups()[0]?.tier === 'cold')
    answer()
    assert.deepEqual(await Promise.all([first, second]), [200, 200])
    assert.ok(reports.at(-1)?.servers.every(({ tier }) => tier === 'cold'))
  })
})
