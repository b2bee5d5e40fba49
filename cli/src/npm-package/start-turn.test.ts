import assert from 'node:assert/strict'
import { test } from 'node:test'
import { takeStartTurn } from './start-turn.ts'

test('starts of clusters take turns', async () => {
  const { signal } = new AbortController()
  const ends = [await takeStartTurn(signal, 2), await takeStartTurn(signal, 2)]
  let isTaken = false
  const third = takeStartTurn(signal, 2).then((end) => {
    isTaken = true
    return end
  })
  await assert.rejects(takeStartTurn(AbortSignal.timeout(300), 2), { name: /AbortError|TimeoutError/ })
  assert.equal(isTaken, false)
  ends[0]!()
  const end = await third
  end()
  ends[1]!()
})
