import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLocalCounts } from './local-counts.ts'
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

  it('is not kept out by many repeated guesses', () => {
    const { waiting, pass } = setUp()
    const logins = [...Array.from({ length: 200 }, (_, guess) => `guess-${guess}`), 'right']
    for (const login of logins) waiting.refused('ann', login)
    pass(1000)
    for (const login of logins) waiting.isFirst('ann', login)
    for (const login of logins.slice(0, -1)) {
      pass(50)
      assert.equal(waiting.isFirst('ann', 'right'), false)
      assert.equal(waiting.isFirst('ann', login), true)
      waiting.verified('ann', login)
      waiting.refused('ann', `${login} again`)
    }
    assert.equal(waiting.isFirst('ann', 'right'), true)
  })

  it('does not wait for earlier logins that have not been retried for half of the timeout', () => {
    const { waiting, pass } = setUp()
    for (const login of ['a', 'b']) waiting.refused('ann', login)
    pass(1000)
    for (const login of ['a', 'b']) waiting.isFirst('ann', login)
    pass(timeoutMs / 2)
    assert.equal(waiting.isFirst('ann', 'b'), false)
    pass(1)
    assert.equal(waiting.isFirst('ann', 'b'), true)
    assert.equal(waiting.isFirst('ann', 'a'), true)
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

describe('the number of waiting logins is limited', () => {
  type Login = readonly [limit: string, login: string]
  /** Refuses logins of limits and retries them, one batch after the other. */
  const open = (...batches: readonly (readonly Login[])[]) => {
    let nowMs = 0
    const waiting = createWaitingLogins(() => nowMs, timeoutMs)
    for (const logins of batches) {
      for (const [limit, login] of logins) waiting.refused(limit, login)
      nowMs += 1000
      for (const [limit, login] of logins) waiting.isFirst(limit, login)
    }
    return waiting
  }
  const guesses = (limit: string, count: number) =>
    Array.from({ length: count }, (_, guess) => [limit, `guess-${guess}`] as const)

  it('per limit: earlier logins keep their places', () => {
    const waiting = open([['ann', 'right'], ...guesses('ann', 5000)])
    assert.equal(waiting.isFirst('ann', 'right'), true)
    waiting.verified('ann', 'right')
    assert.equal(waiting.isFirst('ann', 'guess-0'), true)
    for (let guess = 0; guess < 4998; guess++) waiting.verified('ann', `guess-${guess}`)
    assert.equal(waiting.isFirst('ann', 'guess-4998'), true)
    waiting.verified('ann', 'guess-4998')
    assert.equal(waiting.isFirst('ann', 'new'), true, 'the last guess was not queued')
  })

  it('of all limits: those of the limit without a new one for the longest time are dropped', () => {
    const others = Array.from({ length: 10 }, (_, other) => guesses(`limit-${other}`, 4999)).flat()
    const full = open([['ann', 'right']], others, guesses('last', 9))
    assert.equal(full.isFirst('ann', 'new'), false)
    const over = open([['ann', 'right']], others, guesses('last', 10))
    assert.equal(over.isFirst('ann', 'new'), true)
    assert.equal(over.isFirst('limit-0', 'new'), false)
    assert.equal(over.isFirst('last', 'new'), false)
  })
})

describe('an owner who repeats the correct password', () => {
  const delayMs = 5000
  /** Returns the seconds until the owner may log in while `attackers` at the same address each repeat a guess. */
  async function secondsUntilOwner(attackers: number, attackerPeriodMs: number): Promise<number> {
    let nowMs = 0
    const waiting = createWaitingLogins(() => nowMs, timeoutMs)
    const counts = createLocalCounts(() => nowMs)
    const mayTry = async (login: string): Promise<boolean> => {
      const limits = [{ key: 'ann', max: 20, delayMs, isFirst: waiting.isFirst('ann', login) }]
      const waitMs = await counts.begin({ limits, source: 'ann' }, 15 * 60_000)
      waiting[waitMs > 0 ? 'refused' : 'verified']('ann', login)
      return waitMs === 0
    }
    const guesses = Array.from({ length: attackers }, () => 0)
    for (let step = 0; step < 3_600_000 / 100; step++) {
      for (const attacker of guesses.keys()) {
        if ((nowMs / 100 + attacker) % (attackerPeriodMs / 100) !== 0) continue
        if (await mayTry(`${attacker} ${guesses[attacker]}`)) guesses[attacker] = (guesses[attacker] ?? 0) + 1
      }
      const ownerMs = nowMs - 15_000
      if (ownerMs >= 0 && ownerMs % (delayMs + 100) === 0 && (await mayTry('right'))) return ownerMs / 1000
      nowMs += 100
    }
    return Number.POSITIVE_INFINITY
  }

  for (const [attackers, periodMs] of [
    [20, 1000],
    [150, 1000],
    [150, 5000],
  ] as const) {
    it(`waits for at most one delay for each of ${attackers} guesses repeated every ${periodMs} ms`, async () => {
      const seconds = await secondsUntilOwner(attackers, periodMs)
      // Each turn may begin late, because the next login comes back only after its own period.
      const maxSeconds = ((attackers + 1) * (delayMs + periodMs)) / 1000
      assert.ok(seconds <= maxSeconds, `${seconds} s`)
    })
  }
})
