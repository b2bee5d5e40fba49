import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Turns } from './turns.ts'

/** Turns for one piece of work at a time, whose pieces end when the test says so. */
function setUp({ maxWaitingPerSource = 64, maxWaiting = 1024 } = {}) {
  const turns = new Turns({ atOnce: 1, maxWaitingPerSource, maxWaiting })
  const started: string[] = []
  const ends: (() => void)[] = []
  const run = (name: string, signal?: AbortSignal): Promise<string> => {
    const result = turns.run(
      name.charAt(0),
      async () => {
        started.push(name)
        await new Promise<void>((resolve) => ends.push(resolve))
        return name
      },
      signal,
    )
    result.catch(() => undefined)
    return result
  }
  const endOne = async () => {
    ends.shift()?.()
    await new Promise(setImmediate)
  }
  return { run, started, endOne }
}

describe('work that takes turns', () => {
  it('of another source waits for one piece of a flood', async () => {
    const { run, started, endOne } = setUp()
    for (let piece = 0; piece < 50; piece++) run(`a${piece}`)
    run('b0')
    run('c0')
    run('b1')
    for (let end = 0; end < 6; end++) await endOne()
    assert.deepEqual(started, ['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'a3'])
  })

  it('is dropped when its caller leaves', async () => {
    const { run, started, endOne } = setUp()
    const caller = new AbortController()
    run('a0')
    const left = run('a1', caller.signal)
    run('a2')
    caller.abort(new Error('left'))
    await assert.rejects(left, /left/)
    await endOne()
    assert.deepEqual(started, ['a0', 'a2'])
    assert.throws(() => run('a3', caller.signal), /left/)
  })

  it('is limited for each source', async () => {
    const { run } = setUp({ maxWaitingPerSource: 2 })
    for (const name of ['a0', 'a1', 'a2', 'b0']) run(name)
    assert.throws(() => run('a3'), { code: 'unavailable' })
    run('b1')
  })

  it('of a new source replaces the last piece of the largest source', async () => {
    const { run, started, endOne } = setUp({ maxWaiting: 3 })
    run('a0')
    const [first, , last] = [run('a1'), run('a2'), run('a3')]
    run('b0')
    await assert.rejects(last, { code: 'unavailable' })
    run('c0')
    assert.throws(() => run('d0'), { code: 'unavailable' }, 'each source has one place')
    for (let end = 0; end < 3; end++) await endOne()
    assert.equal(await first, 'a1')
    assert.deepEqual(started, ['a0', 'a1', 'b0', 'c0'])
  })

  it('continues after a failure', async () => {
    const turns = new Turns({ atOnce: 1, maxWaitingPerSource: 2, maxWaiting: 2 })
    const failing = turns.run('a', () => Promise.reject(new Error('failed')))
    const next = turns.run('a', async () => 'done')
    await assert.rejects(failing, /failed/)
    assert.equal(await next, 'done')
  })
})
