import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { defaultRule, formatRule } from '@svc/domain/rules'
import { createTestStores, loadAudit, waitUntil } from '../testing/index.ts'
import {
  type Database,
  ensureDefaultRules,
  loadConfig,
  loadRules,
  loadRulesSnapshot,
  ParsedRules,
  rulesChannel,
  saveConfig,
  saveRules,
  sql,
} from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores

const audit = { author: 'ann', comment: 'why', identity: 'admin', ip: '127.0.0.1' }
const now = Date.UTC(2026, 0, 1)
const loadForever = JSON.stringify([formatRule(defaultRule)])
const history = (key: string, type = 'rules') => loadAudit(database, { type, key, withReplaced: true })

/** Runs `work` while the audit table rejects all rows. */
async function withoutAudit(work: (on: Database) => Promise<void>): Promise<void> {
  await database.query(sql`ALTER TABLE audit ADD CONSTRAINT closed CHECK (false) NOT VALID`)
  try {
    await work(database)
  } finally {
    await database.query(sql`ALTER TABLE audit DROP CONSTRAINT closed`)
  }
}

describe('rules', () => {
  it('are stored with their audit entry, and loaded', async () => {
    await saveRules(database, 'wiki', loadForever, audit, now)
    const rules = await loadRules(database)
    assert.deepEqual(rules.get('wiki'), [defaultRule])
    const [first] = await history('wiki')
    assert.deepEqual(first, {
      ...audit,
      id: first!.id,
      type: 'rules',
      key: 'wiki',
      payload: loadForever,
      replaced: '[]',
      createdAt: now,
    })
    await saveRules(database, 'wiki', '[]', audit, now + 1)
    assert.deepEqual((await loadRules(database)).get('wiki'), [])
    const [, second] = await history('wiki')
    assert.deepEqual([second!.replaced, (await history('wiki')).length], [loadForever, 2])
    const { auditIds } = await loadRulesSnapshot(database, new ParsedRules())
    assert.equal(auditIds.get('wiki'), second!.id)
  })

  it('are the same objects for all reads of the same text, even at the same time', async () => {
    const long = JSON.stringify(Array.from({ length: 5000 }, () => formatRule(defaultRule)))
    await saveRules(database, 'long', long, audit, now)
    const parsed = new ParsedRules()
    const [first, second] = await Promise.all([loadRules(database, parsed), loadRules(database, parsed)])
    const later = await loadRules(database, parsed)
    assert.equal(first.get('long')?.length, 5000)
    for (const rules of [second, later]) assert.equal(rules.get('long'), first.get('long'))
    await saveRules(database, 'long', '[]', audit, now)
    assert.deepEqual((await loadRules(database, parsed)).get('long'), [])
  })

  it('are not stored without their audit entry', async () => {
    await saveRules(database, 'kept', loadForever, audit, now)
    await withoutAudit(async () => {
      await assert.rejects(saveRules(database, 'kept', '[]', audit, now), { code: '23514' })
      await assert.rejects(saveRules(database, 'new', '[]', audit, now), { code: '23514' })
    })
    const rules = await loadRules(database)
    assert.deepEqual(rules.get('kept'), [defaultRule])
    assert.equal(rules.has('new'), false)
    assert.equal((await history('kept')).length, 1)
  })

  it('notify listeners only when they are stored', async () => {
    let notifications = 0
    await database.listen(rulesChannel, () => notifications++)
    await saveRules(database, 'told', '[]', audit, now)
    await waitUntil('the notification', () => notifications === 1)
    await withoutAudit(async () => {
      await assert.rejects(saveRules(database, 'told', loadForever, audit, now))
    })
    await saveRules(database, 'told', '[]', audit, now)
    await waitUntil('the second notification', () => notifications >= 2)
    assert.equal(notifications, 2)
  })

  it('from concurrent writers leave one list, and one audit entry per writer', async () => {
    const many = stores.connect(8)
    await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        saveRules(many, 'busy', loadForever, { ...audit, comment: String(index) }, now),
      ),
    )
    assert.equal((await history('busy')).length, 8)
    assert.deepEqual((await loadRules(database)).get('busy'), [defaultRule])
  })

  for (const name of ['__proto__', 'a/b', ' ', 'ü🐨', `'; DROP TABLE rules; --`]) {
    it(`are kept under the name [${name}]`, async () => {
      await saveRules(database, name, loadForever, audit, now)
      assert.deepEqual((await loadRules(database)).get(name), [defaultRule])
    })
  }

  it('get cluster defaults once, which do not overwrite later changes', async () => {
    await Promise.all([ensureDefaultRules(database, loadForever), ensureDefaultRules(database, loadForever)])
    assert.deepEqual((await loadRules(database)).get('_default'), [defaultRule])
    await saveRules(database, '_default', '[{"type":"dropForever"}]', audit, now)
    await ensureDefaultRules(database, loadForever)
    assert.deepEqual((await loadRules(database)).get('_default'), [{ type: 'dropForever' }])
  })
})

describe('a dynamic configuration', () => {
  it('is stored with its audit entry and a revision', async () => {
    assert.equal(await loadConfig(database, 'config'), undefined)
    await saveConfig(database, 'config', '{"a":1}', 0, audit, now)
    assert.deepEqual(await loadConfig(database, 'config'), { value: '{"a":1}', revision: 1 })
    await saveConfig(database, 'config', '{"a":2}', 1, audit, now)
    assert.deepEqual(await loadConfig(database, 'config'), { value: '{"a":2}', revision: 2 })
    assert.deepEqual(
      (await history('config', 'config')).map(({ payload }) => payload),
      ['{"a":1}', '{"a":2}'],
    )
  })

  it('does not change if its revision is outdated (conflict)', async () => {
    await saveConfig(database, 'contested', 'first', 0, audit, now)
    for (const revision of [0, 2]) {
      await assert.rejects(saveConfig(database, 'contested', 'second', revision, audit, now), {
        code: 'conflict',
        message: 'Another request has changed configuration [contested] in the meantime',
      })
    }
    assert.deepEqual(await loadConfig(database, 'contested'), { value: 'first', revision: 1 })
    assert.equal((await history('contested', 'contested')).length, 1)
  })

  it('accepts exactly one of many concurrent changes', async () => {
    const many = stores.connect(8)
    for (const revision of [0, 1]) {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 8 }, (_, index) =>
          saveConfig(many, 'raced', String(index), revision, audit, now),
        ),
      )
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    }
    assert.equal((await loadConfig(database, 'raced'))?.revision, 2)
  })

  it('is not stored without its audit entry', async () => {
    await withoutAudit(async () => {
      await assert.rejects(saveConfig(database, 'unaudited', '{}', 0, audit, now), { code: '23514' })
    })
    assert.equal(await loadConfig(database, 'unaudited'), undefined)
  })
})
