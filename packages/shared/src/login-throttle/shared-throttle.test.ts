import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createTestStores, startTcpGate, waitUntil } from '../testing/index.ts'
import { openLoginThrottle } from './index.ts'

const stores = await createTestStores({ after })
const redisPort = stores.settings('router').get('svc.queue.redis.port')
const gate = await startTcpGate({ after }, redisPort)
const open = (now = () => performance.now()) => {
  const properties = { 'svc.queue.redis.port': String(gate.port), 'svc.auth.throttle.failures': '2' }
  const throttle = openLoginThrottle(stores.settings('router', properties), now)
  assert.ok(throttle)
  after(throttle.stop)
  return throttle
}
const [one, other] = [open(), open()]
const address = '10.0.0.1'

/** Whether the next login of a user is let try. */
const mayTry = async (throttle: typeof one, user: string) =>
  (await throttle.begin(user, address)) === undefined

describe('failed logins', () => {
  it('are counted for all servers together, until one succeeds', async () => {
    assert.equal(await mayTry(one, 'ann'), true)
    assert.equal(await mayTry(other, 'ann'), true)
    assert.equal(await mayTry(one, 'ann'), false)
    assert.equal(await mayTry(other, 'ann'), false)
    await one.succeeded('ann', address)
    await waitUntil('the count begins anew', () => mayTry(one, 'ann'))
  })

  it('are counted by each server while Redis stands still, and no login waits for it for long', async () => {
    gate.freeze()
    const began = performance.now()
    assert.equal(await mayTry(one, 'bob'), true)
    assert.equal(await mayTry(one, 'bob'), true)
    assert.equal(await mayTry(one, 'bob'), false)
    await one.succeeded('bob', address)
    assert.equal(await mayTry(one, 'bob'), true)
    // Each would wait five seconds for a command that is not answered.
    assert.ok(performance.now() - began < 10_000)
    gate.thaw()
    await waitUntil('they are counted together again', async () => {
      await Promise.all([mayTry(one, 'eve'), mayTry(other, 'eve')])
      return !(await mayTry(one, 'eve')) && !(await mayTry(other, 'eve'))
    })
  })

  it('that each server has counted for itself are not counted together later', async () => {
    gate.freeze()
    let laterMs = 0
    const late = open(() => performance.now() + laterMs)
    for (let attempt = 0; attempt < 4; attempt++) {
      await mayTry(late, 'fay')
      laterMs += 60_000
    }
    gate.thaw()
    await waitUntil('they are counted together again', async () => {
      laterMs += 60_000
      await Promise.all([mayTry(late, 'gus'), mayTry(other, 'gus')])
      return !(await mayTry(late, 'gus')) && !(await mayTry(other, 'gus'))
    })
    assert.equal(await mayTry(other, 'fay'), true)
  })

  it('are counted by each server while Redis is away', async () => {
    await gate.cut()
    for (const throttle of [one, other]) {
      assert.equal(await mayTry(throttle, 'dan'), true)
      assert.equal(await mayTry(throttle, 'dan'), true)
      assert.equal(await mayTry(throttle, 'dan'), false)
    }
    await gate.mend()
  })
})
