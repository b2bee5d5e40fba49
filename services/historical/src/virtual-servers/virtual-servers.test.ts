import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Report } from '@svc/shared/data-server'
import {
  createTestContext,
  createTestStores,
  httpRequest,
  startReportTaker,
  waitUntil,
} from '@svc/shared/testing'
import { createVirtualServers, virtualServerRoutes } from './index.ts'

const stores = await createTestStores({ after })
const path = '/svc/historical/v1/virtualServers'

const reports: Report[] = []
let term = 5
/** What the leader waits for before it answers a report. */
let answering = Promise.resolve()
await startReportTaker({ after }, stores, async (report) => {
  reports.push(report)
  await answering
  return { term, resync: [], voidUntilMs: {} }
})

const context = await createTestContext({ after }, stores, 'historical', {
  'svc.simulation.enabled': 'true',
  'svc.simulation.virtualServers': '[{"count":2,"tier":"hot","size":"1g"}]',
})
const servers = createVirtualServers(context)
after(async () => {
  context.beginToStop()
  await servers.stop()
})
await context.serve({ routes: virtualServerRoutes(servers) })
await servers.start()

const change = async (groups: readonly object[]): Promise<number> =>
  (await httpRequest(context.port, { method: 'POST', path, body: groups })).status

const names = (list: readonly { readonly name: string }[] = []) => list.map(({ name }) => name)

describe('other virtual servers', () => {
  it('are answered when nothing changes, with and without servers', async () => {
    const present = [{ count: 2, tier: 'hot', size: '1g' }]
    assert.equal(await change(present), 200)
    assert.equal(await change(present), 200)
    assert.equal(await change([]), 200)
    const told = reports.length
    assert.equal(await change([]), 200)
    assert.equal(reports.length, told, 'there was nothing to report')
  })

  it('that find no room in a report are told of in it, and follow in the next', async () => {
    const told = reports.length
    assert.equal(await change([{ count: 6000, tier: 'hot', size: '1g' }]), 200)
    const [first, second] = reports.slice(told)
    assert.equal(first?.servers.length, 5000)
    const awaited = names(first?.awaited)
    assert.equal(new Set([...awaited, ...names(first?.servers)]).size, 6000)
    assert.deepEqual(
      awaited.filter((name) => !names(second?.servers).includes(name)),
      [],
    )
    assert.deepEqual(second?.awaited, [])
  })

  it('report to another leader at once, all of them', async () => {
    // One that is on its way may be answered by the new leader already.
    const told = reports.length - 1
    term = 6
    const reported = () => reports.slice(told)
    await waitUntil(
      'all are reported',
      () => new Set(reported().flatMap(({ servers: some }) => names(some))).size === 6000,
    )
    assert.ok(reported().length <= 4, `it took ${reported().length} reports`)
  })

  it('are answered to all who ask for some at once', async () => {
    let answer = (): void => undefined
    answering = new Promise((resolve) => {
      answer = resolve
    })
    const told = reports.length
    const first = change([{ count: 1, tier: 'hot', size: '1g' }])
    await waitUntil('the first servers are reported', () => reports.length > told)
    const second = change([{ count: 1, tier: 'cold', size: '1g' }])
    await waitUntil('the second servers are there', () => servers.groups()[0]?.tier === 'cold')
    answer()
    assert.deepEqual(await Promise.all([first, second]), [200, 200])
    assert.ok(reports.at(-1)?.servers.every(({ tier }) => tier === 'cold'))
  })
})
