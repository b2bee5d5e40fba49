import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { waitUntil } from '../testing/index.ts'
import { growingDelay, startLoop } from './index.ts'

const never = 1_000_000
const unexpected = (error: unknown): undefined => {
  throw error
}

describe('a loop', () => {
  it('runs immediately, then with a delay after each run', async (context) => {
    const starts: number[] = []
    const loop = startLoop(
      50,
      async () => {
        starts.push(performance.now())
      },
      unexpected,
    )
    context.after(loop.stop)
    await waitUntil('three runs', () => starts.length >= 3)
    for (const index of [1, 2]) assert.ok((starts[index] ?? 0) - (starts[index - 1] ?? 0) >= 45)
  })

  it('waits for very long delays', async (context) => {
    const yearMs = 365 * 86_400_000
    let runs = 0
    const loop = startLoop(yearMs, async () => void runs++, unexpected)
    context.after(loop.stop)
    // If the delay overflowed, this loop would run again before the other one has run five times.
    let others = 0
    const other = startLoop(2, async () => void others++, unexpected)
    context.after(other.stop)
    await waitUntil('others run', () => others >= 5)
    assert.equal(runs, 1)
  })

  it('runs as soon as it is woken', async (context) => {
    let runs = 0
    const loop = startLoop(never, async () => runs++ && never, unexpected)
    context.after(loop.stop)
    await waitUntil('the first run', () => runs === 1)
    loop.wake()
    await waitUntil('the second run', () => runs === 2)
  })

  it('runs again when triggered during a run', async (context) => {
    let runs = 0
    let finish: () => void = () => undefined
    const loop = startLoop(
      never,
      () => {
        runs += 1
        return new Promise<void>((resolve) => {
          finish = resolve
        })
      },
      unexpected,
    )
    context.after(loop.stop)
    for (let wakes = 0; wakes < 3; wakes++) loop.wake()
    assert.equal(runs, 1)
    finish()
    await waitUntil('the second run', () => runs === 2)
    finish()
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(runs, 2)
    loop.wake()
    await waitUntil('the third run', () => runs === 3)
    finish()
  })

  it('uses the delay returned by its work or its error handler', async (context) => {
    const waits: unknown[] = []
    const timers = mock.method(globalThis, 'setTimeout')
    context.after(() => timers.mock.restore())
    let runs = 0
    const loop = startLoop(
      never,
      async () => {
        runs += 1
        if (runs === 1) return 11
        if (runs === 2) throw new Error('once')
        return undefined
      },
      (error) => {
        assert.equal((error as Error).message, 'once')
        return 12
      },
    )
    await waitUntil('three runs', () => runs === 3)
    await loop.stop()
    for (const { arguments: given } of timers.mock.calls) waits.push(given[1])
    for (const wait of [11, 12, never]) assert.ok(waits.includes(wait), String(wait))
  })

  it('continues after an error', async (context) => {
    let errors = 0
    const loop = startLoop(
      1,
      async () => {
        throw new Error('always')
      },
      () => {
        errors += 1
      },
    )
    context.after(loop.stop)
    await waitUntil('many errors', () => errors > 5)
  })

  it('stops after the run in progress, and does not run again', async () => {
    let runs = 0
    let finish: () => void = () => undefined
    const loop = startLoop(
      1,
      () => {
        runs += 1
        return new Promise<void>((resolve) => {
          finish = resolve
        })
      },
      unexpected,
    )
    let isStopped = false
    const stopped = loop.stop().then(() => {
      isStopped = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(isStopped, false)
    finish()
    await stopped
    loop.wake()
    await new Promise((resolve) => setTimeout(resolve, 10))
    assert.equal(runs, 1)
    await loop.stop()
  })
})

describe('a growing delay', () => {
  it('doubles up to its maximum, and starts over after a reset', () => {
    const delay = growingDelay(50, 300)
    assert.deepEqual(
      Array.from({ length: 5 }, () => delay.next()),
      [50, 100, 200, 300, 300],
    )
    delay.reset()
    assert.deepEqual([delay.next(), delay.next()], [50, 100])
  })
})
