import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { createTestStores, waitUntil } from '../testing/index.ts'
import {
  acquireLease,
  assertLeads,
  leasesChannel,
  loadLeases,
  releaseLease,
  renewLease,
  sql,
} from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores

const candidate = (holder: string, node = holder) => ({
  role: 'coordinator',
  holder: `machine ${holder}`,
  node,
  baseUrl: `http://${node}`,
})
const [a, b] = [candidate('a'), candidate('b')]
const leaseMs = 60_000
const expire = () =>
  database.query(sql`UPDATE leader_leases SET expires_at = clock_timestamp() - interval '1 ms'`)

beforeEach(() => database.query(sql`DELETE FROM leader_leases`))

describe('a lease', () => {
  it('goes to the first candidate, and to no other while it is valid', async () => {
    assert.equal((await acquireLease(database, a, leaseMs)).term, 1)
    assert.equal((await acquireLease(database, b, leaseMs)).term, undefined)
    assert.deepEqual(await loadLeases(database), [
      { role: 'coordinator', node: 'a', baseUrl: 'http://a', term: 1, expiresSoon: false },
    ])
    const [lease] = await loadLeases(database, 2 * leaseMs)
    assert.equal(lease?.expiresSoon, true)
  })

  it('goes to exactly one of many concurrent candidates', async () => {
    const many = stores.connect(10)
    const terms = await Promise.all(
      Array.from({ length: 10 }, (_, index) => acquireLease(many, candidate(`c${index}`), leaseMs)),
    )
    assert.deepEqual(
      terms.flatMap(({ term }) => term ?? []),
      [1],
    )
  })

  it('is separate for each role', async () => {
    await acquireLease(database, a, leaseMs)
    assert.equal((await acquireLease(database, { ...b, role: 'overlord' }, leaseMs)).term, 1)
    assert.equal((await loadLeases(database)).length, 2)
  })

  it('is renewed only by its holder, in its term', async () => {
    await acquireLease(database, a, leaseMs)
    assert.equal(await renewLease(database, a, 1, leaseMs), true)
    assert.equal(await renewLease(database, a, 2, leaseMs), false)
    assert.equal(await renewLease(database, b, 1, leaseMs), false)
    assert.equal(await renewLease(database, { ...a, holder: 'a after a restart' }, 1, leaseMs), false)
  })

  it('that has expired has no leader, and goes to another candidate with a higher term', async () => {
    await acquireLease(database, a, leaseMs)
    await expire()
    assert.deepEqual(await loadLeases(database), [])
    assert.equal((await acquireLease(database, b, leaseMs)).term, 2)
    assert.equal(await renewLease(database, a, 1, leaseMs), false)
    await expire()
    assert.equal((await acquireLease(database, a, leaseMs)).term, 3)
  })

  it('that has expired can still be renewed if nobody took it', async () => {
    await acquireLease(database, a, leaseMs)
    await expire()
    assert.equal(await renewLease(database, a, 1, leaseMs), true)
    assert.equal((await acquireLease(database, b, leaseMs)).term, undefined)
  })

  it('has a time until it expires', async () => {
    await acquireLease(database, a, leaseMs)
    const { expiresInMs } = await acquireLease(database, b, leaseMs)
    assert.ok(expiresInMs > leaseMs - 5000 && expiresInMs <= leaseMs, `${expiresInMs}`)
  })

  it('expires by the clock of Postgres', async () => {
    await acquireLease(database, a, 150)
    assert.equal((await acquireLease(database, b, leaseMs)).term, undefined)
    const term = await waitUntil('it expires', async () => (await acquireLease(database, b, leaseMs)).term)
    assert.equal(term, 2)
  })

  it('goes immediately to a restarted process on the same port', async () => {
    await acquireLease(database, candidate('first life', 'node:1'), leaseMs)
    assert.equal((await acquireLease(database, candidate('second life', 'node:1'), leaseMs)).term, 2)
    assert.equal(await renewLease(database, candidate('first life', 'node:1'), 1, leaseMs), false)
  })

  it('is not extended by a holder that does not know that it has the lease', async () => {
    await acquireLease(database, a, leaseMs)
    // The answer was lost, so the process tries again.
    assert.equal((await acquireLease(database, a, leaseMs)).term, undefined)
    await releaseLease(database, a)
    assert.equal((await acquireLease(database, a, leaseMs)).term, 2)
  })

  it('notifies other candidates when its holder releases it', async (context) => {
    const roles: (string | undefined)[] = []
    const listener = await database.listen(leasesChannel, (role) => roles.push(role))
    context.after(() => listener.close())
    await acquireLease(database, a, leaseMs)
    await releaseLease(database, b)
    await releaseLease(database, a)
    await listener.catchUp()
    assert.deepEqual(roles, ['coordinator'])
  })

  it('is released immediately, but only by its holder', async () => {
    await acquireLease(database, a, leaseMs)
    await releaseLease(database, b)
    await releaseLease(database, { ...a, holder: 'a after a restart' })
    assert.equal((await acquireLease(database, b, leaseMs)).term, undefined)
    await releaseLease(database, a)
    assert.deepEqual(await loadLeases(database), [])
    assert.equal((await acquireLease(database, b, leaseMs)).term, 2)
  })
})

describe('a fenced transaction', () => {
  const write = (term: number) =>
    database.transaction(async (transaction) => {
      await assertLeads(transaction, 'coordinator', term)
      await transaction.query(sql`INSERT INTO rules (datasource, rules) VALUES (${`by ${term}`}, '[]')`)
    })
  const written = async () =>
    (
      await database.query<{ name: string }>(sql`SELECT datasource AS name FROM rules ORDER BY datasource`)
    ).map(({ name }) => name)
  beforeEach(() => database.query(sql`DELETE FROM rules`))

  it('commits for the leader, and writes nothing for an old one', async () => {
    await acquireLease(database, a, leaseMs)
    await write(1)
    await expire()
    await acquireLease(database, b, leaseMs)
    await assert.rejects(write(1), {
      code: 'unavailable',
      message: 'This server is no longer the [coordinator] leader: another server has taken over',
    })
    await write(2)
    assert.deepEqual(await written(), ['by 1', 'by 2'])
  })

  it('fails if there never was a leader', async () => {
    await assert.rejects(write(1), { code: 'unavailable' })
  })

  it('delays a takeover until it has ended', async () => {
    await acquireLease(database, a, leaseMs)
    const other = stores.connect(2)
    const order: string[] = []
    let taking: Promise<unknown> = Promise.resolve()
    await database.transaction(async (transaction) => {
      await assertLeads(transaction, 'coordinator', 1)
      await transaction.query(sql`SELECT 1`)
      await other.query(sql`SELECT 1`)
      // The lease has expired by the clock, but a transaction of its holder is still running.
      taking = (async () => {
        await other.query(sql`SET lock_timeout = 0`)
        const { term } = await acquireLease(other, { ...b, node: 'a' }, leaseMs)
        order.push(`taken in term ${term}`)
      })()
      await waitUntil('the other waits', async () => {
        const rows = await transaction.query(
          sql`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        )
        return rows.length === 1
      })
      order.push('written')
    })
    await taking
    assert.deepEqual(order, ['written', 'taken in term 2'])
  })
})
