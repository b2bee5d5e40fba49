import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import type { Role } from '../config/index.ts'
import { createTestStores } from '../testing/index.ts'
import {
  type AnnouncedNode,
  acquireLease,
  loadLeases,
  loadMissingNodes,
  loadNodes,
  refreshMembers,
  removeNode,
  removeStaleNodes,
  saveHeartbeat,
  sql,
} from './index.ts'

const { database } = await createTestStores({ after })
beforeEach(() => database.query(sql`DELETE FROM nodes`))

const node = (name: string, given: Partial<AnnouncedNode> = {}): AnnouncedNode => ({
  name,
  role: 'historical',
  service: 'svc/historical',
  host: '127.0.0.1',
  plaintextPort: 8083,
  tlsPort: null,
  details: {},
  ...given,
})
const age = (name: string, seconds: number) =>
  database.query(
    sql`UPDATE nodes SET heartbeat_at = now() - ${seconds}::float8 * interval '1 second' WHERE name = ${name}`,
  )
const names = async (timeoutMs = 5000) => (await loadNodes(database, timeoutMs)).map(({ name }) => name)

describe('a server', () => {
  it('is listed as announced', async () => {
    const announced = node('a', { tlsPort: 8283, plaintextPort: null, details: { workerCapacity: 4 } })
    await saveHeartbeat(database, announced)
    assert.deepEqual(await loadNodes(database, 5000), [announced])
  })

  it('replaces its earlier announcement', async () => {
    await saveHeartbeat(database, node('a'))
    const changed = node('a', { service: 'svc/other', plaintextPort: 1, details: { x: 1 } })
    await saveHeartbeat(database, changed)
    assert.deepEqual(await loadNodes(database, 5000), [changed])
  })

  it('is identified by role and name', async () => {
    await saveHeartbeat(database, node('b'))
    await saveHeartbeat(database, node('a'))
    await saveHeartbeat(database, node('a', { role: 'broker' }))
    assert.deepEqual(
      (await loadNodes(database, 5000)).map(({ role, name }) => `${role} ${name}`),
      ['broker a', 'historical a', 'historical b'],
    )
  })

  it('renews its heartbeat, and gets the servers of the requested roles, itself, and the leaders', async () => {
    for (const name of ['a', 'b']) await saveHeartbeat(database, node(name))
    await saveHeartbeat(database, node('c', { role: 'broker' }))
    const refresh = (roles: readonly Role[], own?: AnnouncedNode) =>
      refreshMembers(database, { roles, own, timeoutMs: 5000, soonMs: 60_000 })
    const read = async (roles: readonly Role[], own?: AnnouncedNode) =>
      (await refresh(roles, own)).nodes.map(({ name }) => name)
    assert.deepEqual(await read(['broker']), ['c'])
    assert.deepEqual(await read([]), [])
    assert.deepEqual(await read([], node('b')), ['b'])
    assert.deepEqual(await read(['broker'], node('a')), ['c', 'a'])
    assert.deepEqual(await read(['historical'], node('a')), ['a', 'b'])
    await age('a', 6)
    assert.deepEqual(await read(['historical']), ['b'])
    const changed = node('a', { plaintextPort: null, tlsPort: 1, details: { x: 'y' } })
    assert.deepEqual((await refresh([], changed)).nodes, [changed])
    assert.deepEqual(await read(['historical']), ['a', 'b'])
    assert.deepEqual((await refresh([])).leases, [])
    await acquireLease(database, { role: 'overlord', holder: 'm 1', node: 'n', baseUrl: 'http://n' }, 30_000)
    assert.deepEqual((await refresh([])).leases, await loadLeases(database, 60_000))
    assert.equal((await refresh([])).leases[0]?.expiresSoon, true)
  })

  it('that misses its heartbeats is not listed until the next heartbeat', async () => {
    await saveHeartbeat(database, node('a'))
    await saveHeartbeat(database, node('b'))
    await age('a', 6)
    assert.deepEqual(await names(), ['b'])
    assert.deepEqual(await names(7000), ['a', 'b'])
    await saveHeartbeat(database, node('a'))
    assert.deepEqual(await names(), ['a', 'b'])
  })

  it('that misses its heartbeats is missing, and one that leaves is not', async () => {
    for (const name of ['a', 'b', 'c']) await saveHeartbeat(database, node(name))
    for (const name of ['a', 'b']) await age(name, 60)
    await removeNode(database, node('b'))
    const [missing, ...others] = await loadMissingNodes(database, 5000)
    assert.deepEqual([missing!.role, missing!.name, others], ['historical', 'a', []])
    assert.ok(Math.abs(missing!.silentMs - 60_000) < 10_000, String(missing!.silentMs))
  })

  it('that leaves disappears immediately', async () => {
    await saveHeartbeat(database, node('a'))
    await saveHeartbeat(database, node('a', { role: 'broker' }))
    await removeNode(database, node('a'))
    assert.deepEqual(
      (await loadNodes(database, 5000)).map(({ role }) => role),
      ['broker'],
    )
  })

  it('that has had no heartbeat for a long time is deleted', async () => {
    await saveHeartbeat(database, node('old'))
    await saveHeartbeat(database, node('young'))
    await age('old', 100)
    await removeStaleNodes(database, 50_000)
    assert.deepEqual(await names(1_000_000), ['young'])
  })
})
