import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createSlices, finishInSlices } from './index.ts'

/** Takes `count` steps that each take longer than a slice. Adds the turn of the event loop of each step to `turns`. */
function* longSteps(count: number, turn: () => number, turns: number[]): Generator<undefined, string> {
  for (let step = 0; step < count; step += 1) {
    const startedAt = performance.now()
    while (performance.now() - startedAt < 9);
    turns.push(turn())
    yield
  }
  return 'finished'
}

test('calculations at the same time take one slice per turn of the event loop', async () => {
  let turn = 0
  const turns: number[] = []
  const slices = createSlices()
  const steps = () => longSteps(3, () => turn, turns)
  const calculations = Promise.all([
    ...Array.from({ length: 5 }, () => finishInSlices(steps())),
    slices.run(steps, new AbortController().signal),
  ])
  let isFinished = false
  calculations.finally(() => {
    isFinished = true
  })
  while (!isFinished) {
    await setImmediate()
    turn += 1
  }
  assert.deepEqual(new Set(await calculations), new Set(['finished']))
  assert.equal(turns.length, 18)
  const inOneTurn = [...Map.groupBy(turns, (one) => one).values()].map(({ length }) => length)
  // Both the first calculation and the first of `slices` begin at once.
  assert.ok(Math.max(...inOneTurn) <= 2, `${inOneTurn}`)
  assert.ok(inOneTurn.filter((length) => length > 1).length <= 1, `${inOneTurn}`)
})

test('a calculation that fails does not keep others from starting at once', async () => {
  await assert.rejects(
    finishInSlices(
      (function* (): Generator<undefined, void> {
        yield
        throw new Error('invalid')
      })(),
    ),
    /invalid/,
  )
  const turns: number[] = []
  const finished = finishInSlices(longSteps(1, () => 0, turns))
  assert.equal(turns.length, 1)
  assert.equal(await finished, 'finished')
})
