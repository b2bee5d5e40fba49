import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { ConnectionShares } from './connection-shares.ts'

const limits = { maxConnections: 8, maxWaitingPerCaller: 3, maxWaiting: 5, maxWaitMs: 60_000 }
const response = () => new EventEmitter().setMaxListeners(50) as ServerResponse
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Records the callers whose requests got a connection. */
function taking(given: Partial<typeof limits> = {}) {
  const shares = new ConnectionShares({ ...limits, ...given })
  const granted: string[] = []
  return {
    shares,
    granted,
    take: async (caller: string, from = response()) => {
      const release = await shares.take(caller, from)
      granted.push(caller)
      return release
    },
  }
}

describe('the connections to a server', () => {
  it('are never all in use by the callers that use the most', async () => {
    const { take, granted } = taking({ maxWaitingPerCaller: 20, maxWaiting: 60 })
    const left = response()
    const taken = ['a', 'b', 'c'].flatMap((caller) => Array.from({ length: 8 }, () => take(caller, left)))
    await turn()
    assert.deepEqual(granted.join(''), 'aaaabbc')
    await take('d')
    left.emit('close')
    await Promise.allSettled(taken)
  })

  it('go to waiting callers in turn, and to none that uses more than are free', async () => {
    const { take, granted, shares } = taking()
    const first = await Promise.all([take('a'), take('a'), take('a'), take('a')])
    const waiting = [take('a'), take('a'), take('b'), take('b'), take('b')]
    await turn()
    assert.deepEqual(granted.join(''), 'aaaabb')
    first[0]!()
    first[0]!()
    await turn()
    assert.deepEqual(granted.join(''), 'aaaabbb')
    first[1]!()
    first[2]!()
    first[3]!()
    for (const release of await Promise.all(waiting)) release()
    assert.equal(granted.length, 9)
    assert.equal(shares.isUnused, true)
  })

  it('are refused if too many requests wait, or for too long', async () => {
    const { take } = taking({ maxConnections: 2, maxWaiting: 4, maxWaitMs: 20 })
    await take('a')
    const waiting = ['a', 'a', 'a'].map((caller) => take(caller))
    await assert.rejects(take('a'), { code: 'busy', message: /retry in a few seconds/ })
    for (const one of waiting) await assert.rejects(one, { code: 'busy' })
    await take('b')
  })

  it('are not waited for after the caller disconnected', async () => {
    const { take, shares } = taking({ maxConnections: 2 })
    const release = await take('a')
    const left = response()
    const waiting = take('a', left)
    await turn()
    left.emit('close')
    await assert.rejects(waiting, { code: 'unavailable' })
    release()
    assert.equal(shares.isUnused, true)
    await take('a')
  })
})
