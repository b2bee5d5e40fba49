import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createSharedTurns, createSlices, finishInBackground, finishInSlices } from './index.ts'

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

/** Waits until calculations have ended, and counts each turn of the event loop. */
async function untilEnd(calculations: Promise<unknown>, onTurn: () => void): Promise<void> {
  let isFinished = false
  calculations.finally(() => {
    isFinished = true
  })
  while (!isFinished) {
    await setImmediate()
    onTurn()
  }
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
  await untilEnd(calculations, () => {
    turn += 1
  })
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

test('a calculation in the background lets timers run between its slices until something waits for it', async () => {
  let turn = 0
  let timers = 0
  const timersBefore: number[] = []
  const turns: number[] = []
  const noteStep = () => {
    timersBefore.push(timers)
    setTimeout(() => {
      timers += 1
    }, 1)
    return turn
  }
  const calculation = finishInBackground(longSteps(6, noteStep, turns), () => turns.length >= 3)
  await untilEnd(calculation, () => {
    turn += 1
  })
  assert.equal(await calculation, 'finished')
  assert.deepEqual(timersBefore.slice(0, 4), [0, 1, 2, 3])
  assert.deepEqual(
    turns.slice(3).map((one) => one - turns[3]!),
    [0, 1, 2],
  )
})

test('calculations with shared turns together get as many slices as a single other one', async () => {
  let turn = 0
  const [shared, other]: [number[], number[]] = [[], []]
  const turns = createSharedTurns()
  const calculations = Promise.all([
    ...Array.from({ length: 6 }, () =>
      finishInSlices(
        longSteps(4, () => turn, shared),
        turns,
      ),
    ),
    finishInSlices(longSteps(4, () => turn, other)),
  ])
  await untilEnd(calculations, () => {
    turn += 1
  })
  assert.equal(shared.length, 24)
  assert.equal(other.length, 4)
  const before = shared.filter((one) => one <= other.at(-1)!).length
  assert.ok(before <= 6, `${before} slices before the last one of the other calculation`)
})
