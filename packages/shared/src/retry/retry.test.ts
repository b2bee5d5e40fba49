import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conflict, timedOut, unavailable } from '@svc/domain/failure'
import { retry } from './retry.ts'

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

test('retries while the service is unavailable or does not answer in time', async () => {
  assert.equal(await retry(failingWith(unavailable('x'), timedOut('y')), { timeoutMs: 10_000 }), 3)
})

test('does not retry after the max number of attempts', async () => {
  const errors = [unavailable('x'), unavailable('y'), unavailable('z')]
  assert.equal(await retry(failingWith(...errors), { maxAttempts: 4, delayMs: 0 }), 4)
  await assert.rejects(retry(failingWith(...errors), { maxAttempts: 3, delayMs: 0 }), /z/)
})

test('does not retry a rejected request, or after the timeout', async () => {
  await assert.rejects(retry(failingWith(conflict('taken')), { timeoutMs: 10_000 }), /taken/)
  await assert.rejects(retry(failingWith(unavailable('away')), { timeoutMs: 0 }), /away/)
})

test('throws the reason of an aborted signal', async () => {
  const signal = AbortSignal.abort(new Error('enough'))
  await assert.rejects(retry(failingWith(), { timeoutMs: 10_000, signal }), /^Error: enough$/)
})

test('retries other errors that the caller considers temporary, and reports each', async () => {
  const seen: string[] = []
  const isTemporary = ({ message }: Error) => message === 'early'
  const onRetry = ({ message }: Error) => seen.push(message)
  assert.equal(await retry(failingWith(new Error('early')), { isTemporary, onRetry, delayMs: 1 }), 2)
  await assert.rejects(
    retry(failingWith(new Error('early'), unavailable('x')), { isTemporary, onRetry, delayMs: 1 }),
    /^Failure: x$|^Error: x$/,
  )
  assert.deepEqual(seen, ['early', 'early'])
})

test('returns the result of an attempt during which the signal was aborted', async () => {
  const controller = new AbortController()
  const work = async () => {
    controller.abort()
    return 'done'
  }
  assert.equal(await retry(work, { signal: controller.signal }), 'done')
})

test('waits a little longer before each attempt, up to the max', async () => {
  const startedAt = performance.now()
  const errors = Array.from({ length: 40 }, () => unavailable('x'))
  assert.equal(await retry(failingWith(...errors), { delayMs: 1, maxDelayMs: 3 }), 41)
  // 40 delays of 1 ms would be 40 ms, and 40 delays of 3 ms 120 ms. Timers may only be late.
  assert.ok(performance.now() - startedAt >= 50)
})
