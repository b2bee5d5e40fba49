import assert from 'node:assert/strict'
import { after, beforeEach, describe, it, type TestContext } from 'node:test'
import { unavailable } from '@svc/domain/failure'
import { startDiscovery } from '../discovery/index.ts'
import { loadNodes, removeNode } from '../postgres/index.ts'
import { createReadiness } from '../runtime/index.ts'
import { createTestStores, recordingLogger, waitUntil } from '../testing/index.ts'
import { createAnnouncement } from './announcement.ts'

const stores = await createTestStores({ after })
const { database } = stores
const me = {
  name: 'me',
  role: 'broker',
  service: 'svc/broker',
  host: 'h',
  plaintextPort: 1,
  tlsPort: null,
  details: {},
} as const

beforeEach(() => removeNode(database, me))

const isKnown = async () => (await loadNodes(database, 60_000)).length > 0

async function start(context: TestContext, reachable: boolean) {
  const settings = stores.settings('broker', { 'svc.discovery.heartbeatPeriod': 'PT0.05S' })
  const logger = recordingLogger()
  const discovery = startDiscovery(database, settings, logger)
  context.after(discovery.stop)
  const readiness = createReadiness()
  const stopping = new AbortController()
  const announcement = createAnnouncement(discovery, readiness, () => me, {
    logger,
    stopping: stopping.signal,
  })
  const setReachable = (now: boolean) => {
    readiness.setReachable(now)
    announcement.reachableChanged(now)
  }
  setReachable(reachable)
  return { discovery, announcement, setReachable, stopping }
}

describe('a reachable server', () => {
  it('is not announced before it has started', async (context) => {
    const { announcement, discovery } = await start(context, true)
    await discovery.refresh()
    assert.equal(await isKnown(), false)
    await announcement.begin()
    assert.equal(await isKnown(), true)
  })

  it('is announced if it became reachable just before it was ready', async (context) => {
    const { announcement, discovery, setReachable } = await start(context, false)
    await announcement.begin()
    assert.equal(await isKnown(), false)
    const refreshed = discovery.refresh()
    setReachable(true)
    await refreshed
    await waitUntil('it is announced', isKnown)
  })

  it('is withdrawn if it became unreachable just before it was ready', async (context) => {
    const { announcement, discovery, setReachable } = await start(context, true)
    await announcement.begin()
    assert.equal(await isKnown(), true)
    const refreshed = discovery.refresh()
    setReachable(false)
    await refreshed
    await waitUntil('it is withdrawn', async () => !(await isKnown()))
  })

  it('keeps starting if the metadata store becomes unavailable after the announcement', async () => {
    let refreshes = 0
    const discovery = {
      announce: async () => undefined,
      withdraw: () => undefined,
      refresh: async () => {
        refreshes += 1
        if (refreshes === 1) throw unavailable('The metadata store is unavailable')
      },
    }
    const waits = { logger: recordingLogger(), stopping: new AbortController().signal }
    await createAnnouncement(discovery, createReadiness(), () => me, waits).begin()
    assert.equal(refreshes, 2)
  })

  it('is not changed once it stops', async (context) => {
    const { announcement, discovery, setReachable, stopping } = await start(context, true)
    await announcement.begin()
    stopping.abort()
    setReachable(false)
    await discovery.refresh()
    assert.equal(await isKnown(), true)
  })
})
