import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { segmentId } from '@svc/domain/segment'
import { createTestStores, loadAudit, storeSegments } from '../testing/index.ts'
import {
  copyStore,
  createResetTable,
  hasCopy,
  loadReset,
  loadSegmentRecords,
  restoreStore,
  saveAudit,
  saveReset,
  sql,
  waitForReset,
  whileServersWait,
} from './index.ts'

const { database } = await createTestStores({ after })
const key = { dataSource: 'wiki', interval: { start: 0, end: 1 }, version: 'v1', partitionNum: 0 }
const segment = { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10, totalRows: 1 }
const audit = { type: 'rules', key: 'wiki', author: '', comment: '', identity: '', ip: '', payload: '[]' }
const auditIds = () => database.query<{ id: number }>(sql`SELECT id FROM audit ORDER BY id`)

describe('a copy of the store', () => {
  it('replaces later content, and sequences continue after its rows', async () => {
    await saveAudit(database, audit, 1)
    await copyStore(database, 'first state')
    await storeSegments(database, [segment], 'a/0.parquet')
    await saveAudit(database, audit, 2)
    await copyStore(database, 'second')
    await database.transaction((transaction) => restoreStore(transaction, 'first state'))
    assert.deepEqual(await loadSegmentRecords(database, {}), [])
    assert.deepEqual(await database.query(sql`SELECT * FROM segment_removals`), [])
    assert.deepEqual(await auditIds(), [{ id: 1 }])
    await saveAudit(database, audit, 3)
    assert.deepEqual(await auditIds(), [{ id: 1 }, { id: 2 }])
    await database.transaction((transaction) => restoreStore(transaction, 'second'))
    assert.equal((await loadSegmentRecords(database, {})).length, 1)
    const entries = await loadAudit(database, { type: 'rules' })
    assert.deepEqual(
      entries.map(({ createdAt }) => createdAt),
      [1, 2],
    )
  })

  it('is kept or replaced when it exists', async () => {
    assert.equal(await hasCopy(database, 'kept'), false)
    await Promise.all([1, 2, 3].map(() => copyStore(database, 'kept', { keepsExisting: true })))
    const before = await auditIds()
    await saveAudit(database, audit, 4)
    await copyStore(database, 'kept', { keepsExisting: true })
    await database.transaction((transaction) => restoreStore(transaction, 'kept'))
    assert.deepEqual(await auditIds(), before)
    await saveAudit(database, audit, 5)
    await copyStore(database, 'kept')
    await database.transaction((transaction) => restoreStore(transaction, 'kept'))
    assert.equal((await auditIds()).length, before.length + 1)
  })

  it('of an earlier version is restored after migrations', async () => {
    await copyStore(database, 'earlier')
    await database.query(sql`CREATE TABLE later (name text)`)
    await database.query(sql`INSERT INTO later VALUES ('by the migration')`)
    await database.query(sql`ALTER TABLE audit ADD COLUMN later text NOT NULL DEFAULT 'default'`)
    try {
      await copyStore(database, 'kept', { keepsExisting: true })
      await database.query(sql`INSERT INTO later VALUES ('by work')`)
      await database.transaction((transaction) => restoreStore(transaction, 'earlier'))
      assert.deepEqual(await database.query(sql`SELECT * FROM later`), [{ name: 'by the migration' }])
      const values = await database.query(sql`SELECT DISTINCT later FROM audit`)
      assert.deepEqual(values, [{ later: 'default' }])
    } finally {
      await database.query(sql`DROP TABLE later`)
      await database.query(sql`ALTER TABLE audit DROP COLUMN later`)
    }
  })

  it('does not contain servers and leases', async () => {
    await database.query(sql`
      INSERT INTO leader_leases (role, holder, node, base_url, term, expires_at) VALUES ('x', 'h', 'n', 'u', 7, now())`)
    await database.transaction((transaction) => restoreStore(transaction, 'kept'))
    assert.deepEqual(await database.query(sql`SELECT term FROM leader_leases`), [{ term: 7 }])
  })
})

describe('a reset', () => {
  it('works while the servers wait, and then they continue', async () => {
    const events: string[] = []
    const wait = async (name: string) => {
      await waitForReset(database)
      events.push(`${name} continues`)
    }
    const begin = () => Promise.all(['a', 'b'].map(wait))
    await whileServersWait(database, { servers: 2, begin, timeoutMs: 10_000 }, async () => {
      events.push('work')
    })
    assert.deepEqual(events.toSorted(), ['a continues', 'b continues', 'work'])
    assert.equal(events[0], 'work')
  })

  it('does not begin if a server does not stop in time', async () => {
    const begin = async () => undefined
    const refused = whileServersWait(database, { servers: 1, begin, timeoutMs: 20 }, () => assert.fail())
    await assert.rejects(refused, {
      code: 'timedOut',
      message: /^Only \[0\] of \[1\] servers stopped within/,
    })
  })

  it('does not begin if a server fails to stop', async () => {
    const begin = () => Promise.reject(new Error('it broke'))
    const refused = whileServersWait(database, { servers: 1, begin, timeoutMs: 10_000 }, () => assert.fail())
    await assert.rejects(refused, { message: 'it broke' })
  })

  it('is found by its ID until the next one', async () => {
    await Promise.all([createResetTable(database), createResetTable(database)])
    await saveReset(database, { id: '1', servers: ['a', 'b'], problem: null })
    assert.deepEqual(await loadReset(database, '1'), { id: '1', servers: ['a', 'b'], problem: null })
    await saveReset(database, { id: '2', servers: [], problem: 'no' })
    assert.equal(await loadReset(database, '1'), undefined)
  })
})
