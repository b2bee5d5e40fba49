import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createWaitingLogins } from './waiting-logins.ts'

const patienceMs = 30_000

describe('a login that was refused', () => {
  const setUp = () => {
    let nowMs = 0
    const waiting = createWaitingLogins(() => nowMs, patienceMs)
    return {
      waiting,
      pass: (ms: number) => {
        nowMs += ms
      },
    }
  }

  it('goes first when it is repeated, before those that are new', () => {
    const { waiting, pass } = setUp()
    waiting.refused('ann', 'right')
    pass(5000)
    assert.equal(waiting.isFirst('ann', 'guess'), true, 'nobody is back yet')
    assert.equal(waiting.isFirst('ann', 'right'), true)
    assert.equal(waiting.isFirst('ann', 'other guess'), false)
    assert.equal(waiting.isFirst('bob', 'guess'), true, 'other limits have their own')
  })

  it('does not go first when it is repeated at once', () => {
    const { waiting, pass } = setUp()
    waiting.refused('ann', 'guess')
    pass(100)
    waiting.isFirst('ann', 'guess')
    assert.equal(waiting.isFirst('ann', 'other guess'), true)
  })

  it('keeps the order in which logins came back', () => {
    const { waiting, pass } = setUp()
    for (const login of ['a', 'b']) waiting.refused('ann', login)
    pass(1000)
    assert.deepEqual(
      ['b', 'a', 'b'].map((login) => waiting.isFirst('ann', login)),
      [true, false, true],
    )
    waiting.verified('ann', 'b')
    assert.deepEqual(
      ['b', 'a'].map((login) => waiting.isFirst('ann', login)),
      [false, true],
    )
  })

  it('loses its place when it is not repeated', () => {
    const { waiting, pass } = setUp()
    waiting.refused('ann', 'a')
    pass(1000)
    assert.equal(waiting.isFirst('ann', 'a'), true)
    pass(patienceMs)
    assert.equal(waiting.isFirst('ann', 'guess'), false)
    pass(1)
    assert.equal(waiting.isFirst('ann', 'guess'), true)
  })

  it('is remembered through a flood of guesses', () => {
    const { waiting, pass } = setUp()
    waiting.refused('ann', 'right')
    for (let guess = 0; guess < 20_000; guess++) waiting.refused('ann', `guess-${guess}`)
    pass(5000)
    assert.equal(waiting.isFirst('ann', 'right'), true)
    assert.equal(waiting.isFirst('ann', 'new guess'), false)
  })
})
