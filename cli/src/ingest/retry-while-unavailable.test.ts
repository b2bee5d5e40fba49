import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conflict, unavailable } from '@svc/domain/failure'
import { retryWhileUnavailable } from './retry-while-unavailable.ts'

/** A function that throws these errors one after the other, and then returns its number of calls. */
function failingWith(...errors: Error[]): () => Promise<number> {
  let calls = 0
  return async () => {
    calls += 1
    const error = errors[calls - 1]
    if (error) throw error
    return calls
  }
}

test('retries while the service is unavailable', async () => {
  assert.equal(
    await retryWhileUnavailable(failingWith(unavailable('x'), unavailable('y')), { timeoutMs: 10_000 }),
    3,
  )
})

test('does not retry a rejected request, or after the timeout', async () => {
  await assert.rejects(retryWhileUnavailable(failingWith(conflict('taken')), { timeoutMs: 10_000 }), /taken/)
  await assert.rejects(retryWhileUnavailable(failingWith(unavailable('away')), { timeoutMs: 0 }), /away/)
})

test('throws the reason of an aborted signal', async () => {
  const signal = AbortSignal.abort(new Error('enough'))
  await assert.rejects(retryWhileUnavailable(failingWith(), { timeoutMs: 10_000, signal }), /^Error: enough$/)
})
