import assert from 'node:assert/strict'
import { after, beforeEach, describe, it, type TestContext } from 'node:test'
import { type Role, roles } from '../config/index.ts'
import {
  type AnnouncedNode,
  acquireLease,
  createDatabase,
  loadNodes,
  removeNode,
  saveHeartbeat,
  sql,
} from '../postgres/index.ts'
import { createTestStores, recordingLogger, startTcpGate, waitUntil } from '../testing/index.ts'
import { baseUrlOf, startDiscovery } from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores
const storePort = stores.settings('broker').get('svc.metadata.storage.connector.port')
beforeEach(async () => {
  await database.query(sql`DELETE FROM nodes`)
  await database.query(sql`DELETE FROM leader_leases`)
})

const node = (name: string, given: Partial<AnnouncedNode> = {}): AnnouncedNode => ({
  name,
  role: 'historical',
  service: 'svc/historical',
  host: 'h',
  plaintextPort: 1,
  tlsPort: null,
  details: {},
  ...given,
})

async function discover(
  context: TestContext,
  properties: Record<string, string> = {},
  role: Role = 'broker',
) {
  const gate = await startTcpGate(context, storePort)
  const settings = stores.settings(role, {
    'svc.metadata.storage.connector.port': String(gate.port),
    'svc.discovery.heartbeatPeriod': 'PT0.05S',
    'svc.discovery.timeout': 'PT0.5S',
    ...properties,
  })
  const own = createDatabase(settings, { connections: 2, applicationName: 'discovery' })
  const logger = recordingLogger()
  const discovery = startDiscovery(own, settings, logger)
  context.after(async () => {
    await discovery.stop()
    await own.close()
  })
  return { discovery, logger, gate }
}
async function isAnyoneWaiting(): Promise<boolean> {
  const rows = await database.query(
    sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  )
  return rows.length > 0
}

type Discovered = Awaited<ReturnType<typeof discover>>['discovery']
const names = (discovery: Discovered) => discovery.nodes('historical').map(({ name }) => name)

describe('the base URL of a server', () => {
  const rows: readonly [given: Partial<AnnouncedNode>, url: string][] = [
    [{ host: 'h', plaintextPort: 1, tlsPort: null }, 'http://h:1'],
    [{ host: 'h', plaintextPort: null, tlsPort: 2 }, 'https://h:2'],
    [{ host: 'h', plaintextPort: 1, tlsPort: 2 }, 'https://h:2'],
    [{ host: '::1', plaintextPort: 1, tlsPort: null }, 'http://[::1]:1'],
    [{ host: '2001:db8::7', plaintextPort: null, tlsPort: 2 }, 'https://[2001:db8::7]:2'],
  ]
  for (const [given, url] of rows) it(url, () => assert.equal(baseUrlOf(node('n', given)), url))
})

describe('discovery', () => {
  it('lists the live servers of a role', async (context) => {
    const { discovery } = await discover(context, { 'svc.discovery.timeout': 'PT60S' })
    assert.deepEqual(discovery.nodes('historical'), [])
    await saveHeartbeat(database, node('a'))
    await saveHeartbeat(database, node('b', { role: 'broker' }))
    await discovery.refresh()
    assert.deepEqual(discovery.nodes('historical'), [{ ...node('a'), baseUrl: 'http://h:1' }])
    assert.deepEqual(names(discovery), ['a'])
  })

  const seen = [
    { role: 'historical', sees: ['coordinator other', 'historical a historical'] },
    { role: 'worker', sees: ['worker a worker'] },
    { role: 'overlord', sees: ['overlord an overlord', 'overlord other', 'worker other'] },
  ] as const
  for (const { role, sees } of seen) {
    it(`lists only [${sees}] for the role ${role}`, async (context) => {
      const { discovery } = await discover(context, { 'svc.discovery.timeout': 'PT60S' }, role)
      for (const one of roles) await saveHeartbeat(database, node('other', { role: one }))
      const own = role === 'overlord' ? 'an overlord' : `a ${role}`
      await discovery.announce(node(own, { role }))
      await discovery.refresh()
      // A heartbeat of an earlier test, whose connection was closed, may still arrive in the store.
      const names = [own, 'other']
      const found = roles.flatMap((one) => discovery.nodes(one).map(({ name }) => ({ one, name })))
      const listed = found.filter(({ name }) => names.includes(name)).map(({ one, name }) => `${one} ${name}`)
      assert.deepEqual(listed.sort(), sees)
    })
  }

  it('detects servers that join, leave, and miss their heartbeats', async (context) => {
    const { discovery } = await discover(context)
    await saveHeartbeat(database, node('leaves'))
    await saveHeartbeat(database, node('dies'))
    await waitUntil('both are seen', () => names(discovery).length === 2)
    await removeNode(database, node('leaves'))
    await waitUntil('one has left', () => names(discovery).join() === 'dies')
    await waitUntil('the other is dead', () => names(discovery).length === 0)
  })

  it('keeps this server visible to others from the announcement to the stop', async (context) => {
    const { discovery: mine } = await discover(context)
    const { discovery: others } = await discover(context)
    await mine.announce(node('me'))
    await others.refresh()
    assert.deepEqual(names(others), ['me'])
    const until = performance.now() + 800
    await waitUntil('more than the discovery timeout has passed', () => {
      assert.deepEqual(names(others), ['me'])
      return performance.now() > until
    })
    await mine.stop()
    await others.refresh()
    assert.deepEqual(names(others), [])
  })

  it('removes a withdrawn server until it is announced again', async (context) => {
    const { discovery: mine } = await discover(context)
    const { discovery: others } = await discover(context)
    await mine.announce(node('me'))
    await waitUntil('it is known', () => names(others).join() === 'me')
    mine.withdraw()
    await waitUntil('it is removed', () => names(others).length === 0)
    await mine.refresh()
    assert.deepEqual(names(mine), [])
    await mine.announce(node('me'))
    await waitUntil('it is known again', () => names(others).join() === 'me')
  })

  it('removes a server that is withdrawn while its announcement is in progress', async (context) => {
    const { discovery } = await discover(context, { 'svc.discovery.timeout': 'PT60S' })
    await discovery.refresh()
    let announced: Promise<void> | undefined
    await database
      .transaction(async (transaction) => {
        await saveHeartbeat(transaction, node('me'))
        announced = discovery.announce(node('me'))
        await waitUntil('the announcement waits', isAnyoneWaiting)
        discovery.withdraw()
        throw new Error('rolled back')
      })
      .catch((error: Error) => assert.equal(error.message, 'rolled back'))
    await announced
    await waitUntil('it is gone', async () => (await loadNodes(database, 60_000)).length === 0)
  })

  it('removes a server that stops while its announcement is in progress', async (context) => {
    const { discovery } = await discover(context, { 'svc.discovery.timeout': 'PT60S' })
    await discovery.refresh()
    let announced: Promise<void> | undefined
    let stopped: Promise<void> | undefined
    await database.transaction(async (transaction) => {
      await saveHeartbeat(transaction, node('me'))
      await removeNode(transaction, node('me'))
      announced = discovery.announce(node('me'))
      await waitUntil('the announcement waits', isAnyoneWaiting)
      stopped = discovery.stop()
    })
    await Promise.all([announced, stopped])
    assert.deepEqual(await loadNodes(database, 60_000), [])
  })

  it('returns the leader, or fails if there is none', async (context) => {
    const { discovery } = await discover(context)
    await discovery.refresh()
    assert.equal(discovery.hasLeader('coordinator'), false)
    assert.throws(() => discovery.leader('coordinator'), {
      code: 'unavailable',
      message: 'No coordinator leader is available at the moment',
    })
    const found: string[] = []
    const unwatch = discovery.onNewLeader('coordinator', () => found.push('coordinator'))
    discovery.onNewLeader('overlord', () => found.push('overlord'))
    const lease = { role: 'coordinator', holder: 'x', node: 'n', baseUrl: 'http://leader' }
    await acquireLease(database, lease, 60_000)
    await discovery.refresh()
    await discovery.refresh()
    assert.deepEqual(found, ['coordinator'])
    await database.query(sql`UPDATE leader_leases SET term = term + 1`)
    await discovery.refresh()
    assert.deepEqual(found, ['coordinator', 'coordinator'])
    unwatch()
    assert.equal(discovery.hasLeader('coordinator'), true)
    assert.equal(discovery.leader('coordinator').baseUrl, 'http://leader')
    assert.equal(discovery.hasLeader('overlord'), false)
    await database.query(sql`UPDATE leader_leases SET expires_at = now()`)
    await waitUntil('the lease has expired', () => !discovery.hasLeader('coordinator'))
  })

  it('refreshes leaders often while a lease is about to expire or has expired', async (context) => {
    const { discovery } = await discover(context, {
      'svc.discovery.heartbeatPeriod': 'PT60S',
      'svc.leader.leasePeriod': 'PT40S',
    })
    await discovery.announce(node('me'))
    const lease = (name: string) => ({
      role: 'coordinator',
      holder: name,
      node: name,
      baseUrl: `http://${name}`,
    })
    await acquireLease(database, lease('old'), 5000)
    // Without its lease, the next refresh would be a minute later.
    await waitUntil('the old leader is known', async () => {
      if (!discovery.hasLeader('coordinator')) discovery.withdraw()
      return discovery.hasLeader('coordinator')
    })
    await database.query(sql`UPDATE leader_leases SET expires_at = now()`)
    await waitUntil('the lease has expired', () => !discovery.hasLeader('coordinator'))
    await acquireLease(database, lease('new'), 60_000)
    await waitUntil('the new leader is known', () => discovery.hasLeader('coordinator'))
    assert.equal(discovery.leader('coordinator').baseUrl, 'http://new')
  })

  it('keeps the last known servers while the metadata store is unavailable, logs that once, and resumes', async (context) => {
    const { discovery, logger, gate } = await discover(context, { 'svc.discovery.timeout': 'PT60S' })
    await discovery.announce(node('me'))
    await waitUntil('the first refresh', () => names(discovery).length === 1)
    await gate.cut()
    await waitUntil(
      'the problem',
      () => logger.having('Discovery failed; using the last known servers').length > 0,
    )
    await assert.rejects(discovery.refresh(), { code: 'unavailable' })
    assert.deepEqual(names(discovery), ['me'])
    await gate.reconnect()
    await waitUntil('it is over', () => logger.having('Discovery recovered').length === 1)
    assert.equal(logger.having('Discovery failed; using the last known servers').length, 1)
  })

  it('does not log that the metadata store is not ready yet', async (context) => {
    const { discovery, logger, gate } = await discover(context)
    await gate.cut()
    const { discovery: early, logger: earlyLogger } = await discover(context, {
      'svc.metadata.storage.connector.port': String(gate.port),
      'svc.discovery.timeout': 'PT60S',
    })
    await assert.rejects(early.refresh())
    await gate.reconnect()
    await saveHeartbeat(database, node('a'))
    await waitUntil('it refreshes', () => names(early).length === 1)
    assert.deepEqual(earlyLogger.lines, [])
    assert.ok(logger.lines.length <= 2)
    await discovery.stop()
  })
})
