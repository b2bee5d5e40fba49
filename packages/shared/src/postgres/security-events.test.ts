import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createTestStores } from '../testing/index.ts'
import { type AuditEntry, loadSecurityEvents, saveSecurityEvents, sql } from './index.ts'

const { database } = await createTestStores({ after })
const now = Date.UTC(2026, 0)

const entry = (key: string, more: Partial<AuditEntry> = {}): AuditEntry => ({
  type: 'security.loginFailure',
  key,
  author: '',
  comment: '',
  identity: '',
  ip: '10.0.0.1',
  payload: '{"count":1}',
  ...more,
})

/** The keys of all stored entries, in insertion order. */
const storedKeys = async () =>
  (await loadSecurityEvents(database, { types: ['security.loginFailure'], count: 10_000 }))
    .map(({ key }) => key)
    .reverse()

describe('writing security audit entries', () => {
  it('preserves every field and the order', async () => {
    const written = [
      entry(`{"a, 'b'\\ NULL} 🐨`, { identity: 'NULL', payload: '{"x":"\\\\u0000 {,}"}' }),
      entry('', { ip: '' }),
      entry('last', { author: 'author', comment: 'a\tcomment\n' }),
    ]
    assert.deepEqual(await saveSecurityEvents(database, written, now), [])
    const stored = await loadSecurityEvents(database, { types: ['security.loginFailure'], count: 10 })
    assert.deepEqual(
      stored.reverse().map(({ id: _id, ...fields }) => fields),
      written.map((one) => ({ ...one, createdAt: now })),
    )
  })

  it('writes all other entries if Postgres rejects some, and returns the rejected ones', async () => {
    await database.query(sql`DELETE FROM audit`)
    // The key is part of an index, and Postgres limits the size of index rows after compression.
    const random = Array.from({ length: 9000 }, (_, index) =>
      String.fromCodePoint(0x4e00 + ((index * 7919 * 104_729) % 20_000)),
    ).join('')
    const bad = [entry('a\0b'), entry('c', { payload: '"\0"' }), entry('d', { ip: '\0' }), entry(random)]
    const good = Array.from({ length: 100 }, (_, index) => entry(`good ${index}`))
    const mixed = [...good]
    for (const [index, one] of bad.entries()) mixed.splice(index * 30, 0, one)
    assert.deepEqual(await saveSecurityEvents(database, mixed, now), bad)
    assert.deepEqual(
      await storedKeys(),
      good.map(({ key }) => key),
    )
  })

  it('throws errors that are not caused by the entries', async () => {
    await database.query(sql`ALTER TABLE audit RENAME TO elsewhere`)
    await assert.rejects(saveSecurityEvents(database, [entry('a'), entry('b')], now), { code: '42P01' })
    await database.query(sql`ALTER TABLE elsewhere RENAME TO audit`)
  })
})
