import assert from 'node:assert/strict'
import { getPriority, tmpdir } from 'node:os'
import { describe, it, type TestContext } from 'node:test'
import { ProcessPool } from './process-pool.ts'

const openPool = (scope: TestContext, maxRunning: number): ProcessPool => {
  const pool = new ProcessPool(tmpdir(), maxRunning)
  scope.after(() => pool.stop())
  return pool
}

describe('the process of an expensive query', () => {
  it('has the lowest priority, and then runs only queries of the same caller', async (scope) => {
    const pool = openPool(scope, 3)
    const expensive = pool.take('ann')
    await expensive.ready
    pool.slowDown(expensive, 'ann')
    assert.equal(getPriority(expensive.child.pid), 19)
    pool.giveBack(expensive)

    const other = pool.take('bob')
    assert.notEqual(other.child.pid, expensive.child.pid)
    const same = pool.take('ann')
    assert.equal(same.child.pid, expensive.child.pid)
    assert.notEqual(pool.take('ann').child.pid, expensive.child.pid)
    pool.giveBack(same)
    assert.equal(pool.take('ann').child.pid, expensive.child.pid)
  })

  it('is replaced by a spare one for other callers', async (scope) => {
    const pool = openPool(scope, 2)
    const expensive = pool.take('ann')
    pool.slowDown(expensive, 'ann')
    const spare = pool.take('bob')
    await spare.ready
    assert.ok(spare.isReady)
    assert.notEqual(spare.child.pid, expensive.child.pid)
  })

  it('ends if too many of them are idle', async (scope) => {
    const pool = openPool(scope, 2)
    const expensive = ['ann', 'bob'].map((caller) => {
      const taken = pool.take(caller)
      pool.slowDown(taken, caller)
      return taken
    })
    await Promise.all(expensive.map(({ ready }) => ready))
    const [ended, kept] = expensive.map(({ child }) => child)
    const { promise, resolve } = Promise.withResolvers<void>()
    ended?.once('exit', () => resolve())
    for (const taken of expensive) pool.giveBack(taken)
    await promise
    assert.equal(pool.take('bob').child.pid, kept?.pid)
    assert.notEqual(pool.take('ann').child.pid, ended?.pid)
  })

  it('ends when it has been idle for 10 s', async (scope) => {
    scope.mock.timers.enable({ apis: ['setInterval'] })
    const pool = openPool(scope, 2)
    const expensive = pool.take('ann')
    await expensive.ready
    pool.slowDown(expensive, 'ann')
    const { promise, resolve } = Promise.withResolvers<void>()
    expensive.child.once('exit', () => resolve())
    pool.giveBack(expensive)
    scope.mock.timers.tick(10_000)
    await promise
    assert.notEqual(pool.take('ann').child.pid, expensive.child.pid)
  })
})
