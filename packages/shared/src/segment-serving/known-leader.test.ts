import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { KnownLeader } from './known-leader.ts'

describe('the leader known to a server', () => {
  it('accepts requests from the latest leader, whenever they were sent', () => {
    const leader = new KnownLeader()
    assert.equal(leader.isVoid({ term: 3, sentAtMs: 0.5 }), false)
    leader.noteLeader(3)
    assert.equal(leader.term, 3)
    assert.equal(leader.isVoid({ term: 2, sentAtMs: 99 }), true)
    assert.equal(leader.isVoid({ term: 3, sentAtMs: 0.5 }), false)
    assert.equal(leader.isVoid({ term: 4, sentAtMs: 0.5 }), false)
  })

  const cases: readonly { term: number; voidUntilMs: number; isNews: boolean; state: [number, number] }[] = [
    { term: 3, voidUntilMs: 10, isNews: true, state: [3, 10] },
    { term: 3, voidUntilMs: 10, isNews: false, state: [3, 10] },
    { term: 3, voidUntilMs: 7, isNews: false, state: [3, 10] },
    { term: 2, voidUntilMs: 99, isNews: false, state: [3, 10] },
    { term: 3, voidUntilMs: 12, isNews: true, state: [3, 12] },
    { term: 4, voidUntilMs: 0, isNews: true, state: [4, 0] },
  ]
  it('advances with a leader, and starts over with the next one', () => {
    const leader = new KnownLeader()
    for (const { term, voidUntilMs, isNews, state } of cases) {
      assert.equal(leader.noteLeader(term, voidUntilMs), isNews)
      assert.deepEqual([leader.term, leader.confirmedVoidUntilMs()], state)
      assert.equal(leader.isVoid({ term: state[0], sentAtMs: state[1] }), true)
      assert.equal(leader.isVoid({ term: state[0], sentAtMs: state[1] + 0.001 }), false)
    }
  })

  it('is confirmed once no revoked request is running', () => {
    const leader = new KnownLeader()
    leader.noteLeader(3)
    const endVoid = leader.begin({ term: 3, sentAtMs: 5 })
    const endOther = leader.begin({ term: 3, sentAtMs: 6 })
    assert.equal(leader.confirmedVoidUntilMs(), 0)
    leader.noteLeader(3, 5)
    assert.equal(leader.confirmedVoidUntilMs(), 0)
    endVoid()
    assert.equal(leader.confirmedVoidUntilMs(), 5)
    endOther()
    assert.equal(leader.confirmedVoidUntilMs(), 5)
  })
})
