import assert from 'node:assert/strict'
import { test } from 'node:test'
import { untilReady } from './until-ready.ts'

const notReady = ['router', 'broker'].map((instance) => ({ instance, problem: 'no response' }))

test('waits for every server that is not ready', async () => {
  const attempts: string[] = []
  const waitUntilReady = async (instance: string) => {
    attempts.push(instance)
    if (attempts.length < 3) throw new Error('not ready')
  }
  await untilReady({ notReady, waitUntilReady }, new AbortController().signal)
  assert.deepEqual(attempts, ['router', 'router', 'router', 'broker'])
})

test('stops waiting when the container is stopped', async () => {
  const stop = new AbortController()
  const waitUntilReady = async () => {
    stop.abort()
    throw new Error('not ready')
  }
  await untilReady({ notReady, waitUntilReady }, stop.signal)
})
