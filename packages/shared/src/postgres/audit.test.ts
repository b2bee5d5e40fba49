import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createTestStores, loadAudit } from '../testing/index.ts'
import { type AuditEntry, type AuditQuery, loadAuditInPages, loadAuditKeys, saveAudit, sql } from './index.ts'

const { database } = await createTestStores({ after })

const now = Date.UTC(2026, 5, 1)
const entry = (key: string, comment: string, type = 'rules'): AuditEntry => ({
  type,
  key,
  author: 'ann',
  comment,
  identity: 'admin',
  ip: '127.0.0.1',
  payload: '[]',
})
// Ten entries one second apart with two alternating keys, and one of another type.
for (let index = 0; index < 10; index++)
  await saveAudit(database, entry(index % 2 === 0 ? 'even' : 'odd', String(index)), now + index * 1000)
await saveAudit(database, entry('even', 'other', 'config'), now)

const seen = async (query: Omit<AuditQuery, 'type'>) =>
  (await loadAudit(database, { type: 'rules', ...query })).map(({ comment }) => comment).join('')

describe('the audit history', () => {
  const at = (from: number, to: number) => ({ start: now + from * 1000, end: now + to * 1000 })
  const rows: readonly [name: string, query: Omit<AuditQuery, 'type'>, seen: string][] = [
    ['is oldest first', {}, '0123456789'],
    ['of one key', { key: 'odd' }, '13579'],
    ['of an unknown key', { key: 'nothing' }, ''],
    ['with a count is newest first', { count: 3 }, '987'],
    ['with a count above the number of entries', { count: 999_999_999 }, '9876543210'],
    ['with a count of a key', { key: 'even', count: 2 }, '86'],
    ['of an interval includes its start and excludes its end', { interval: at(2, 5) }, '234'],
    ['of an interval between two entries', { interval: at(2.2, 2.8) }, ''],
    ['of an interval and a count is the newest of the interval', { interval: at(2, 7), count: 2 }, '65'],
    ['of an interval of one key', { interval: at(2, 7), key: 'odd' }, '35'],
    ['of all eternity', { interval: { start: -Infinity, end: Infinity } }, '0123456789'],
    ['from before the minimum time of Postgres', { interval: { start: -8.64e15, end: now + 2000 } }, '01'],
    ['to after the maximum time of Postgres', { interval: { start: now + 8000, end: 8.64e15 } }, '89'],
  ]
  for (const [name, query, expected] of rows) {
    it(name, async () => assert.equal(await seen(query), expected))
  }

  it('of another type is separate', async () => {
    const entries = await loadAudit(database, { type: 'config' })
    assert.deepEqual(
      entries.map(({ comment }) => comment),
      ['other'],
    )
  })

  it('preserves any text, and the time in milliseconds', async () => {
    const nasty = `'; -- \\N \t ü🐨 {"a":"\\u0000"}`
    const written = {
      type: 'nasty',
      key: nasty,
      author: nasty,
      comment: nasty,
      identity: nasty,
      ip: '::1',
      payload: nasty,
      replaced: nasty,
    }
    for (const time of [now + 1, now + 123, now + 999, 1, 4_102_444_799_999]) {
      const id = await saveAudit(database, written, time)
      const [newest] = await loadAudit(database, { type: 'nasty', count: 1, withReplaced: true })
      assert.deepEqual(newest, { ...written, id, createdAt: time })
      const [without] = await loadAudit(database, { type: 'nasty', count: 1 })
      assert.equal(without?.replaced, null)
    }
  })

  it('is in insertion order even if a clock was set back', async () => {
    await saveAudit(database, entry('clock', 'first', 'clock'), now + 5000)
    await saveAudit(database, entry('clock', 'second', 'clock'), now)
    const comments = async (query: object) =>
      (await loadAudit(database, { type: 'clock', ...query })).map(({ comment }) => comment)
    assert.deepEqual(await comments({}), ['first', 'second'])
    assert.deepEqual(await comments({ count: 1 }), ['second'])
  })

  it('without a count is rejected beyond 10,000 entries', async () => {
    await database.query(sql`
      INSERT INTO audit (type, key, author, comment, identity, ip, payload, created_at)
      SELECT 'long', 'k', '', n::text, '', '', '', to_timestamp(n) FROM generate_series(1, 10001) n`)
    await assert.rejects(loadAudit(database, { type: 'long' }), {
      code: 'tooLarge',
      message: 'The history has more than [10000] entries. Use a shorter [interval] or a [count].',
    })
    const entries = await loadAudit(database, { type: 'long', interval: { start: 1000, end: 10_001_000 } })
    assert.equal(entries.length, 10_000)
    assert.equal((await loadAudit(database, { type: 'long', count: 10_001 })).length, 10_001)
  })

  it('of any size comes in pages', async () => {
    await database.query(sql`
      INSERT INTO audit (type, key, author, comment, identity, ip, payload, replaced, created_at)
      SELECT 'large', 'k', '', n::text, '', '', repeat('x', 250000), repeat('y', 250000), to_timestamp(n)
      FROM generate_series(1, 40) n`)
    const pages = await Array.fromAsync(loadAuditInPages(database, { type: 'large' }))
    assert.deepEqual(
      pages.map((page) => page.length),
      Array(20).fill(2),
    )
    assert.deepEqual(
      pages.flat().map(({ comment }) => comment),
      Array.from({ length: 40 }, (_, index) => String(index + 1)),
    )
    const newest = await Array.fromAsync(loadAuditInPages(database, { type: 'large', count: 3 }))
    assert.deepEqual(
      newest.map((page) => page.map(({ comment }) => comment)),
      [['40', '39'], ['38']],
    )
    const full = await Array.fromAsync(
      loadAuditInPages(database, { type: 'large', count: 3, withReplaced: true }),
    )
    assert.deepEqual(
      full.map((page) => page.length),
      [1, 1, 1],
    )
    assert.deepEqual(await Array.fromAsync(loadAuditInPages(database, { type: 'nothing' })), [])
  })

  it('of several keys counts their entries only', async () => {
    const found = await loadAudit(database, { type: 'rules', keys: ['odd', 'nothing'], count: 3 })
    assert.deepEqual(
      found.map(({ comment }) => comment),
      ['9', '7', '5'],
    )
    assert.deepEqual(await loadAudit(database, { type: 'rules', keys: [] }), [])
    assert.deepEqual(await loadAuditKeys(database, 'rules'), ['even', 'odd'])
  })
})
