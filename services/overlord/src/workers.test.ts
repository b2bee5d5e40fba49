import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { loadSegmentRecords, sql } from '@svc/shared/postgres'
import { indexTask, rowsOf, rowsText, waitUntil } from '@svc/shared/testing'
import { ended, openTaskStores, startHeldInput, startWorker } from './testing/test-worker.ts'

const { stores, database, folders } = await openTaskStores({ after })
beforeEach(async () => {
  await database.query(sql`DELETE FROM tasks`)
  await stores.emptyQueues()
})

describe('two workers', () => {
  it('share the tasks and run each of them once', async (scope) => {
    const workers = [await startWorker(scope, stores, folders), await startWorker(scope, stores, folders)]
    const ids: string[] = []
    for (let index = 0; index < 4; index++) {
      const body = { ...indexTask('shared', rowsOf(index + 1)), id: `shared:${index}/ü` }
      ids.push((await workers[index % 2]?.submit(body)) ?? '')
    }
    for (const id of ids) {
      const task = await ended(stores, id)
      assert.deepEqual([task?.state, task?.attempt], ['SUCCESS', 1])
    }
    const started = workers.flatMap(({ context }) => context.logger.having('Task started'))
    assert.deepEqual(started.map(({ details }) => details.task).sort(), ids.toSorted())
    assert.equal((await loadSegmentRecords(database, { dataSource: 'shared' })).length, 4)
  })

  it('hand a task over when one of them stops', async (scope) => {
    const input = await startHeldInput(scope)
    const first = await startWorker(scope, stores, folders, { allowedHosts: [input.host] })
    const id = await first.submit(indexTask('handed-over', input.source))
    await waitUntil('the task is running', () => input.requested() === 1)
    const second = await startWorker(scope, stores, folders, { allowedHosts: [input.host] })
    const startedAt = performance.now()
    await first.stop()
    const claims = await database.query(sql`
      SELECT id FROM tasks WHERE worker = ${first.context.node().name} AND claimed_until > clock_timestamp()`)
    assert.deepEqual(claims, [], 'a worker that stops waits for no claim to expire')
    await waitUntil('the other worker runs the task', () => input.requested() === 2)
    assert.ok(performance.now() - startedAt < 8000, 'long before the claim would have expired')
    input.release(rowsText(1))
    const task = await ended(stores, id)
    assert.deepEqual([task?.state, task?.attempt, task?.worker], ['SUCCESS', 2, second.context.node().name])
  })
})
