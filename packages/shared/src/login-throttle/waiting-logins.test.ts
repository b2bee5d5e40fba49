import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createWaitingLogins } from './waiting-logins.ts'

const timeoutMs = 30_000

describe('a throttled login', () => {
  const setUp = () => {
    let nowMs = 0
    const waiting = createWaitingLogins(() => nowMs, timeoutMs)
    return {
      waiting,
      pass: (ms: number) => {
        nowMs += ms
      },
    }
  }

  it('goes before new logins when it is retried', () => {
    const { waiting, pass } = setUp()
    waiting.refused('ann', 'right')
    pass(5000)
    assert.equal(waiting.isFirst('ann', 'guess'), true, 'no login was retried yet')
    assert.equal(waiting.isFirst('ann', 'right'), true)
    assert.equal(waiting.isFirst('ann', 'other guess'), false)
    assert.equal(waiting.isFirst('bob', 'guess'), true, 'other limits have their own queue')
  })

  it('does not go first when it is repeated immediately', () => {
    const { waiting, pass } = setUp()
    waiting.refused('ann', 'guess')
    pass(100)
    waiting.isFirst('ann', 'guess')
    assert.equal(waiting.isFirst('ann', 'other guess'), true)
  })

  it('keeps the order of the first retries', () => {
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

  it('loses its place when it is not retried', () => {
    const { waiting, pass } = setUp()
    waiting.refused('ann', 'a')
    pass(1000)
    assert.equal(waiting.isFirst('ann', 'a'), true)
    pass(timeoutMs)
    assert.equal(waiting.isFirst('ann', 'guess'), false)
    pass(1)
    assert.equal(waiting.isFirst('ann', 'guess'), true)
  })

  it('is remembered during a flood of guesses', () => {
    const { waiting, pass } = setUp()
    waiting.refused('ann', 'right')
    for (let guess = 0; guess < 20_000; guess++) waiting.refused('ann', `guess-${guess}`)
    pass(5000)
    assert.equal(waiting.isFirst('ann', 'right'), true)
    assert.equal(waiting.isFirst('ann', 'new guess'), false)
  })
})
