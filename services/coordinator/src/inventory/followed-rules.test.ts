import assert from 'node:assert/strict'
import { after, beforeEach, describe, it, type TestContext } from 'node:test'
import { createDatabase, saveRules, sql } from '@svc/shared/postgres'
import { createTestStores, startTcpGate, waitUntil } from '@svc/shared/testing'
import { type FollowedRules, followRules } from './followed-rules.ts'

const stores = await createTestStores({ after })
const { database } = stores
beforeEach(() => database.query(sql`DELETE FROM rules`))

const audit = { author: '', comment: '', identity: '', ip: '' }
const save = (dataSource: string) => saveRules(database, dataSource, '[{"type":"dropForever"}]', audit, 0)
const names = async (rules: FollowedRules) => [...(await rules.current()).keys()].sort().join()

async function throughGate(scope: TestContext) {
  const port = stores.settings('coordinator').get('svc.metadata.storage.connector.port')
  const gate = await startTcpGate(scope, port)
  const gated = createDatabase(
    stores.settings('coordinator', { 'svc.metadata.storage.connector.port': String(gate.port) }),
    { connections: 2, applicationName: 'gated' },
  )
  scope.after(() => gated.close())
  return { gate, rules: followRules(gated) }
}

describe('followed rules', () => {
  it('are read only once until they change', async () => {
    const rules = followRules(database)
    await rules.start()
    await save('a')
    await waitUntil('the change', async () => (await names(rules)) === 'a')
    assert.equal(await rules.current(), await rules.current())
  })

  it('show a change by another server', async () => {
    const rules = followRules(database)
    await rules.start()
    assert.equal(await names(rules), '')
    await save('a')
    await waitUntil('the change', async () => (await names(rules)) === 'a')
    await save('b')
    await waitUntil('the next change', async () => (await names(rules)) === 'a,b')
  })

  it('show a change by this server to the next reader', async () => {
    const rules = followRules(database)
    for (const name of ['a', 'b', 'c']) {
      await rules.current()
      await save(name)
      rules.invalidate()
      assert.ok((await rules.current()).has(name))
    }
  })

  it('show a change between an early read and the start', async () => {
    const rules = followRules(database)
    assert.equal(await names(rules), '')
    await save('a')
    await rules.start()
    assert.equal(await names(rules), 'a')
  })

  it('discard a read that overlaps with a change', async () => {
    const rules = followRules(database)
    const before = rules.current()
    await save('a')
    rules.invalidate()
    const after = rules.current()
    await before
    assert.equal([...(await after).keys()].join(), 'a')
    assert.equal(await names(rules), 'a')
  })

  it('are read again after a failure or a lost connection', async (scope) => {
    const { gate, rules } = await throughGate(scope)
    await rules.start()
    await names(rules)
    await gate.cut()
    await save('a')
    rules.invalidate()
    await assert.rejects(rules.current(), { code: 'unavailable' })
    await gate.reconnect()
    await waitUntil('the change', () =>
      names(rules).then(
        (seen) => seen === 'a',
        () => false,
      ),
    )
    await gate.cut()
    await save('b')
    await gate.reconnect()
    await waitUntil('the next change', () =>
      names(rules).then(
        (seen) => seen === 'a,b',
        () => false,
      ),
    )
  })
})
