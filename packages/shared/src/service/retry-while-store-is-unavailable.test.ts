import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conflict, unavailable } from '@svc/domain/failure'
import type { Logger } from '../runtime/index.ts'
import { retryWhileStoreIsUnavailable } from './retry-while-store-is-unavailable.ts'

const logger: Logger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
}

/** Fails with each error in turn, and then succeeds. */
function failing(...errors: Error[]): () => Promise<string> {
  return async () => {
    const error = errors.shift()
    if (error) throw error
    return 'done'
  }
}

test('retries work that failed because the store is unavailable', async () => {
  const work = failing(unavailable('away'), unavailable('away'))
  const stopping = new AbortController().signal
  assert.equal(await retryWhileStoreIsUnavailable(work, { logger, stopping, periodMs: 1 }), 'done')
})

const thrown: { name: string; error: Error; isStopping: boolean }[] = [
  { name: 'another failure', error: conflict('there is one already'), isStopping: false },
  { name: 'an unexpected error', error: new Error('broken'), isStopping: false },
  { name: 'an unavailable store while the server stops', error: unavailable('away'), isStopping: true },
]
for (const { name, error, isStopping } of thrown) {
  test(`throws ${name}`, async () => {
    const controller = new AbortController()
    if (isStopping) controller.abort()
    const waits = { logger, stopping: controller.signal, periodMs: 1 }
    await assert.rejects(retryWhileStoreIsUnavailable(failing(error), waits), error)
  })
}
