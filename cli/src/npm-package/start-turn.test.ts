import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
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

test('a program that uses any ports does not delay starts', {
  skip: process.platform !== 'linux',
}, async () => {
  const others = [7911, 7912].map((port) => createServer().listen(port, '127.0.0.1'))
  // A test that runs at the same time may use them, too.
  await Promise.all(others.map((other) => once(other, 'listening').catch(() => undefined)))
  const end = await takeStartTurn(AbortSignal.timeout(20_000), 2)
  end()
  for (const other of others) other.close()
})
