import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { segmentId } from '@svc/domain/segment'
import { parseInterval } from '@svc/domain/time'
import fc from 'fast-check'
import { testCaller, testSettings } from '../testing/index.ts'
import { ServedSegments } from './served-segments.ts'
import { type ServedSegmentsAnswer, servedSegmentsRoute } from './served-segments-route.ts'

/** A follower that polls, and gets deltas or the full list. */
class Follower {
  readonly seen = new Set<string>()
  private at = -1

  follow(served: ServedSegments): 'delta' | 'full' {
    const since = served.since(this.at)
    if (since) {
      for (const { id, change } of since.changes) {
        if (change === 'loaded') this.seen.add(id)
        else this.seen.delete(id)
      }
      this.at = since.next
      return 'delta'
    }
    this.seen.clear()
    for (const id of served.ids()) this.seen.add(id)
    this.at = served.sequence
    return 'full'
  }
}

describe('served segments', () => {
  it('are those added and not removed, and each actual change counts once', () => {
    const served = new ServedSegments()
    served.add('a')
    served.add('a')
    served.remove('b')
    served.add('b')
    served.remove('a')
    served.remove('a')
    assert.deepEqual(served.ids(), ['b'])
    assert.deepEqual([served.has('a'), served.has('b')], [false, true])
    assert.equal(served.sequence, 3)
    assert.deepEqual(served.since(1), {
      changes: [
        { id: 'b', change: 'loaded' },
        { id: 'a', change: 'dropped' },
      ],
      next: 3,
    })
    assert.deepEqual(served.since(3), { changes: [], next: 3 })
  })

  it('have a new session in each lifetime', () => {
    assert.notEqual(new ServedSegments().session, new ServedSegments().session)
  })

  for (const sequence of [-1, 4, Number.MAX_SAFE_INTEGER]) {
    it(`have no changes since the unknown sequence number [${sequence}]`, () => {
      const served = new ServedSegments()
      for (const id of ['a', 'b', 'c']) served.add(id)
      assert.equal(served.since(sequence), undefined)
    })
  }

  it('are known exactly to every follower, whenever it polls', () => {
    const steps = fc.array(
      fc.record({
        id: fc.constantFrom('a', 'b', 'c', 'd', '__proto__'),
        kind: fc.constantFrom('add', 'remove', 'ask'),
      }),
      { maxLength: 200 },
    )
    fc.assert(
      fc.property(steps, (list) => {
        const served = new ServedSegments()
        const truth = new Set<string>()
        const follower = new Follower()
        for (const { id, kind } of list) {
          if (kind === 'add') {
            served.add(id)
            truth.add(id)
          } else if (kind === 'remove') {
            served.remove(id)
            truth.delete(id)
          } else {
            follower.follow(served)
            assert.deepEqual(follower.seen, truth)
          }
        }
        follower.follow(served)
        assert.deepEqual(follower.seen, truth)
        assert.deepEqual(new Set(served.ids()), truth)
      }),
    )
  })

  it('are sent in full to a follower that is too far behind, and as changes to others', () => {
    const served = new ServedSegments()
    const [near, far] = [new Follower(), new Follower()]
    for (const one of [near, far]) assert.equal(one.follow(served), 'full')
    for (let number = 0; number < 50_000; number++) {
      served.add(`s${number}`)
      if (number % 2 === 0) served.remove(`s${number}`)
      if (number % 5000 === 0) assert.equal(near.follow(served), 'delta')
    }
    assert.equal(near.follow(served), 'delta')
    assert.equal(far.follow(served), 'full')
    assert.equal(near.seen.size, 25_000)
    assert.deepEqual(near.seen, far.seen)
    assert.equal(served.sequence, 75_000)
  })

  it('wake all waiting followers once, but not those that have canceled', async () => {
    const served = new ServedSegments()
    const woken: string[] = []
    const wait = (name: string) => {
      const change = served.nextChange()
      void change.happened.then(() => woken.push(name))
      return change
    }
    wait('one')
    wait('two')
    wait('gone').cancel()
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(woken, [])
    served.add('a')
    served.add('b')
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(woken, ['one', 'two'])
    served.add('a')
    served.remove('nothing')
    wait('three')
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(woken, ['one', 'two'])
  })
})

const idOf = (partitionNum: number): string =>
  segmentId({
    dataSource: 'wikipedia',
    interval: parseInterval('2026-01-01/P1D'),
    version: 'v',
    partitionNum,
  })

describe('the endpoint for followers', () => {
  it('leaves a change for the next request if it happens while permissions are checked', async () => {
    const served = new ServedSegments()
    const context = { settings: testSettings('historical'), stopping: new AbortController().signal }
    const { handle } = servedSegmentsRoute({ served }, context)
    const caller = testCaller(() => true)
    const ask = (counter: number, hash: string) =>
      handle({
        query: { counter, hash, timeout: 0 },
        caller,
        signal: context.stopping,
      } as never) as Promise<ServedSegmentsAnswer>
    served.add(idOf(1))
    const asked = ask(0, served.session)
    served.add(idOf(2))
    const first = await asked
    const { counter, hash } = first.counter
    const second = await ask(counter, hash)
    assert.deepEqual(
      [...first.requests, ...second.requests].map(({ id }) => id),
      [idOf(1), idOf(2)],
    )
  })
})
