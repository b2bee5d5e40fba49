import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createTestStores, startTcpGate, waitUntil } from '../testing/index.ts'
import { openLoginThrottle } from './index.ts'

const stores = await createTestStores({ after })
const redisPort = stores.settings('router').get('svc.queue.redis.port')
const gate = await startTcpGate({ after }, redisPort)
const open = (now = () => performance.now(), properties: Readonly<Record<string, string>> = {}) => {
  const throttle = openLoginThrottle(
    stores.settings('router', {
      'svc.queue.redis.port': String(gate.port),
      'svc.auth.throttle.failures': '2',
      'svc.auth.throttle.delay': 'PT1M',
      ...properties,
    }),
    now,
  )
  assert.ok(throttle)
  after(throttle.stop)
  return throttle
}
const [one, other] = [open(), open()]
const address = '10.0.0.1'

let attempts = 0
/** A login of a user, by default with a new password. */
const attempt = (user: string, from = address, digest = `password-${attempts++}`) => ({
  user,
  address: from,
  digest,
})

/** Returns whether a login may be verified. */
const mayTry = async (throttle: typeof one, user: string, from?: string, digest?: string) =>
  (await throttle.begin(attempt(user, from, digest))) === undefined

describe('failed logins', () => {
  it('are counted across all servers until one succeeds', async () => {
    assert.equal(await mayTry(one, 'ann'), true)
    assert.equal(await mayTry(other, 'ann'), true)
    assert.equal(await mayTry(one, 'ann'), false)
    assert.equal(await mayTry(other, 'ann'), false)
    await one.succeeded(attempt('ann'))
    await waitUntil('the count starts over', () => mayTry(one, 'ann'))
  })

  it('are counted by each server while Redis hangs, and no login waits long', async () => {
    gate.freeze()
    const began = performance.now()
    assert.equal(await mayTry(one, 'bob'), true)
    assert.equal(await mayTry(one, 'bob'), true)
    assert.equal(await mayTry(one, 'bob'), false)
    await one.succeeded(attempt('bob'))
    assert.equal(await mayTry(one, 'bob'), true)
    // Each would wait five seconds for a command without a response.
    assert.ok(performance.now() - began < 10_000)
    gate.thaw()
    await waitUntil('they are counted in Redis again', async () => {
      await Promise.all([mayTry(one, 'eve'), mayTry(other, 'eve')])
      return !(await mayTry(one, 'eve')) && !(await mayTry(other, 'eve'))
    })
  })

  it('that were counted by each server are not counted in Redis later', async () => {
    gate.freeze()
    let laterMs = 0
    const late = open(() => performance.now() + laterMs)
    for (let attempt = 0; attempt < 4; attempt++) {
      await mayTry(late, 'fay')
      laterMs += 60_000
    }
    gate.thaw()
    await waitUntil('they are counted in Redis again', async () => {
      laterMs += 60_000
      await Promise.all([mayTry(late, 'gus'), mayTry(other, 'gus')])
      return !(await mayTry(late, 'gus')) && !(await mayTry(other, 'gus'))
    })
    assert.equal(await mayTry(other, 'fay'), true)
  })

  it('are counted by each server while Redis is unavailable', async () => {
    await gate.cut()
    for (const throttle of [one, other]) {
      assert.equal(await mayTry(throttle, 'dan'), true)
      assert.equal(await mayTry(throttle, 'dan'), true)
      assert.equal(await mayTry(throttle, 'dan'), false)
    }
    await gate.reconnect()
  })
})

for (const where of ['Redis', 'each server while Redis is unavailable'] as const) {
  describe(`failed logins counted by ${where}`, () => {
    before(async () => {
      if (where !== 'Redis') await gate.cut()
    })
    after(() => gate.reconnect())
    const delayMs = 1000
    const quick = (failures = '2') =>
      open(() => performance.now(), {
        'svc.auth.throttle.delay': 'PT1S',
        'svc.auth.throttle.failures': failures,
      })
    const name = (user: string) => `${user} of ${where}`

    it('beyond the limit are verified once per delay', async () => {
      const throttle = quick()
      const startedAt = performance.now()
      let verified = 0
      let maxRoundMs = 0
      // The limit, and one after each of three delays.
      while (verified < 5) {
        const roundAt = performance.now()
        const tried = await Promise.all(Array.from({ length: 20 }, () => mayTry(throttle, name('ann'))))
        verified += tried.filter(Boolean).length
        maxRoundMs = Math.max(maxRoundMs, performance.now() - roundAt)
      }
      const tookMs = performance.now() - startedAt
      // A login is verified at the latest in the second round after its delay, and rounds are slow while other programs use
      // the processors. The local clock and that of Redis may differ by milliseconds.
      const latestMs = 3.5 * delayMs + 3 * 2 * maxRoundMs
      assert.ok(tookMs > 2.9 * delayMs && tookMs < latestMs, `${tookMs} ms`)
    })

    it('do not lock out a user who retries the correct password from the same address', async () => {
      const throttle = quick()
      let isOver = false
      const attack = Array.from({ length: 4 }, async () => {
        while (!isOver) {
          await mayTry(throttle, name('bob'))
          await new Promise(setImmediate)
        }
      })
      await waitUntil('the attack is throttled', async () => !(await mayTry(throttle, name('bob'))))
      const waits: number[] = []
      // Without load, that is less than four delays. A guess can take the turn of the first retry, but not of later ones.
      while (waits.length <= 3) {
        const seconds = await throttle.begin(attempt(name('bob'), address, 'right'))
        if (seconds === undefined) break
        waits.push(seconds)
        await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
      }
      isOver = true
      await Promise.all(attack)
      assert.ok(waits.length <= 3 && waits.every((seconds) => seconds <= 1), `waited [${waits}] seconds`)
    })

    it('do not affect the same user at another address', async () => {
      const throttle = quick()
      for (let guess = 0; guess < 3; guess++) await mayTry(throttle, name('eve'))
      assert.equal(await mayTry(throttle, name('eve')), false)
      assert.equal(await mayTry(throttle, name('eve'), '10.0.0.2'), true)
    })

    it('from many addresses are limited together, except from addresses where the user has logged in', async () => {
      const throttle = quick()
      const home = `10.9.0.${where === 'Redis' ? 1 : 2}`
      assert.equal(await mayTry(throttle, name('fay'), home), true)
      await throttle.succeeded(attempt(name('fay'), home))
      let verified = 0
      for (let source = 0; source < 40; source++)
        if (await mayTry(throttle, name('fay'), `10.1.${where.length}.${source}`)) verified += 1
      assert.ok(verified >= 20 && verified <= 22, `${verified}`)
      assert.equal(await mayTry(throttle, name('fay'), home), true)
    })

    it('of many users from one address are limited together, except users who have logged in there', async () => {
      const throttle = open(() => performance.now(), { 'svc.auth.throttle.delay': 'PT1M' })
      const office = `10.8.0.${where === 'Redis' ? 1 : 2}`
      assert.equal(await mayTry(throttle, name('gus'), office), true)
      await throttle.succeeded(attempt(name('gus'), office))
      let verified = 0
      for (let user = 0; user < 230; user++)
        if (await mayTry(throttle, name(`user${user}`), office)) verified += 1
      assert.ok(verified >= 200 && verified <= 202, `${verified}`)
      assert.equal(await mayTry(throttle, name('gus'), office), true)
      assert.equal(await mayTry(throttle, name('user0'), '10.8.1.1'), true)
    })

    it('do not count if the password could not be verified', async () => {
      const throttle = quick()
      for (let time = 0; time < 5; time++) {
        const unverified = attempt(name('ida'))
        assert.equal(await throttle.begin(unverified), undefined)
        await throttle.undecided(unverified)
      }
    })
  })
}
