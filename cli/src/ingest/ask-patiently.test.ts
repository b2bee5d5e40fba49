import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conflict, unavailable } from '@svc/domain/failure'
import { askPatiently } from './ask-patiently.ts'

/** Throws these one after the other, then answers how often it was asked. */
function answering(...errors: Error[]): () => Promise<number> {
  let asked = 0
  return async () => {
    asked += 1
    const error = errors[asked - 1]
    if (error) throw error
    return asked
  }
}

test('what is away is asked again', async () => {
  assert.equal(await askPatiently(answering(unavailable('x'), unavailable('y')), { patienceMs: 10_000 }), 3)
})

test('a refusal is final, and patience ends', async () => {
  await assert.rejects(askPatiently(answering(conflict('taken')), { patienceMs: 10_000 }), /taken/)
  await assert.rejects(askPatiently(answering(unavailable('away')), { patienceMs: 0 }), /away/)
})

test('a signal ends it with its reason', async () => {
  const signal = AbortSignal.abort(new Error('enough'))
  await assert.rejects(askPatiently(answering(), { patienceMs: 10_000, signal }), /^Error: enough$/)
})
