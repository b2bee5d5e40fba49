import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createTestStores, waitUntil } from '../testing/index.ts'
import { shareConnections, sql } from './index.ts'

const { database } = await createTestStores({ after })

describe('shared connections', () => {
  it('end with the transactions in progress, and run nothing later', async () => {
    const shared = shareConnections(database)
    const begun = Promise.withResolvers<void>()
    let isCommitted = false
    const committed = shared
      .transaction(async (transaction) => {
        await transaction.query(sql`SELECT 1`)
        begun.resolve()
        await delay(50)
        await transaction.query(sql`SELECT 2`)
      })
      .then(() => {
        isCommitted = true
      })
    await begun.promise
    await shared.close()
    assert.equal(isCommitted, true)
    await committed
    const refused = { code: 'unavailable', message: 'The connection to the metadata store is closed' }
    await assert.rejects(shared.query(sql`SELECT 1`), refused)
    await assert.rejects(
      shared.transaction(async () => assert.fail()),
      refused,
    )
    await assert.rejects(
      shared.listen('a_channel', () => assert.fail()),
      refused,
    )
    assert.deepEqual(await database.query(sql`SELECT 1 AS one`), [{ one: 1 }])
  })

  it('stop listening when they end, and others continue', async () => {
    const [ending, lasting] = [shareConnections(database), shareConnections(database)]
    const notices = { ending: 0, lasting: 0, stopped: 0 }
    await ending.listen('a_channel', () => notices.ending++)
    await lasting.listen('a_channel', () => notices.lasting++)
    const stopped = await lasting.listen('a_channel', () => notices.stopped++)
    await database.query(sql`NOTIFY a_channel`)
    await waitUntil('all are notified', () => Object.values(notices).every((count) => count === 1))
    await Promise.all([ending.close(), stopped.close()])
    await database.query(sql`NOTIFY a_channel`)
    await waitUntil('one is notified', () => notices.lasting === 2)
    assert.deepEqual(notices, { ending: 1, lasting: 2, stopped: 1 })
    await lasting.close()
  })
})
