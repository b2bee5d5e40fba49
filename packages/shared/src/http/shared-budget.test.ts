import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SharedBudget } from './shared-budget.ts'

const limits = { max: 100, maxPerCaller: 60, maxWaitingPerCaller: 2, maxWaiting: 3, maxWaitMs: 60_000 }

/** Records the order in which amounts are granted. */
function taking(budget: SharedBudget) {
  const granted: string[] = []
  return {
    granted,
    take: async (caller: string, amount: number) => {
      const release = await budget.take(caller, amount)
      granted.push(`${caller} ${amount}`)
      return release
    },
  }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('a shared budget', () => {
  it('grants what fits, and the rest once an amount is released', async () => {
    const { take, granted } = taking(new SharedBudget(limits))
    const first = await take('a', 60)
    const second = take('b', 50)
    await turn()
    assert.deepEqual(granted, ['a 60'])
    first()
    first()
    ;(await second)()
    assert.deepEqual(granted, ['a 60', 'b 50'])
  })

  it('lets others overtake a caller that has used up its own limit', async () => {
    const { take, granted } = taking(new SharedBudget(limits))
    const first = await take('a', 60)
    const second = take('a', 10)
    await take('b', 20)
    assert.deepEqual(granted, ['a 60', 'b 20'])
    first()
    await second
  })

  it('does not let small amounts overtake a large one forever', async () => {
    const { take, granted } = taking(new SharedBudget(limits))
    const first = await take('a', 60)
    const large = take('b', 60)
    const small = take('c', 50)
    await turn()
    first()
    const release = await large
    assert.deepEqual(granted, ['a 60', 'b 60'])
    release()
    await small
  })

  it('grants an amount above the limit when nothing else is in use', async () => {
    const { take, granted } = taking(new SharedBudget(limits))
    const release = await take('a', 1000)
    const next = take('b', 1)
    await turn()
    assert.deepEqual(granted, ['a 1000'])
    release()
    await next
  })

  it('is busy if too many requests of one caller, or of all callers, are waiting', async () => {
    const { take } = taking(new SharedBudget(limits))
    const release = await take('x', 100)
    const waiting = [take('a', 60), take('a', 60)]
    await assert.rejects(take('a', 1), { code: 'busy' })
    waiting.push(take('b', 1))
    await assert.rejects(take('c', 1), { code: 'busy' })
    release()
    const done = await waiting[0]
    done?.()
    await Promise.all(waiting)
  })

  it('is busy for requests that wait too long', async () => {
    const { take, granted } = taking(new SharedBudget({ ...limits, maxWaitMs: 10 }))
    const release = await take('a', 100)
    await assert.rejects(take('b', 1), { code: 'busy' })
    release()
    await take('b', 100)
    assert.deepEqual(granted, ['a 100', 'b 100'])
  })
})
