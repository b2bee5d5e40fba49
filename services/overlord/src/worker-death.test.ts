import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cancelTask, loadSegmentRecords, loadTask } from '@svc/shared/postgres'
import { filesIn, freePort, httpRequest, indexTask, rowsText, waitUntil } from '@svc/shared/testing'
import {
  ended,
  leaveFile,
  openTaskStores,
  startHeldInput,
  startWorker,
  workProperties,
} from './testing/test-worker.ts'

const { stores, database, folder, folders } = await openTaskStores({ after })
const mainFile = fileURLToPath(new URL('./main.ts', import.meta.url))

/** Starts an overlord as a separate process, which can be killed. */
async function startProcess(scope: TestContext, allowedHost: string) {
  const port = await freePort()
  const runtime = path.join(folder, `${port}.properties`)
  const settings = stores.settings('overlord')
  const properties = {
    ...workProperties(folders),
    'svc.plaintextPort': String(port),
    'svc.worker.capacity': '1',
    'svc.ingestion.http.allowedHosts': JSON.stringify([allowedHost]),
    'svc.metadata.storage.connector.database': settings.get('svc.metadata.storage.connector.database'),
    'svc.queue.prefix': settings.get('svc.queue.prefix'),
  }
  writeFileSync(
    runtime,
    Object.entries(properties)
      .map((pair) => pair.join('='))
      .join('\n'),
  )
  const args = [mainFile, '--common', process.env.SVC_TEST_STORES ?? '', '--runtime', runtime]
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  scope.after(() => child.kill('SIGKILL'))
  await waitUntil('the process is ready', () =>
    httpRequest(port, { path: '/status/health' }).then(
      ({ status }) => status === 200,
      () => false,
    ),
  )
  return { child, port }
}

describe('a worker that is killed', () => {
  it('loses its task to another worker, which reruns it and publishes it once', async (scope) => {
    const input = await startHeldInput(scope)
    const { child } = await startProcess(scope, input.host)
    const survivor = await startWorker(scope, stores, folders, { capacity: 0, allowedHosts: [input.host] })
    const id = await survivor.submit(indexTask('survives', input.source))
    await waitUntil('the task is running', () => input.requested() === 1)
    assert.equal((await loadTask(database, id))?.state, 'RUNNING')
    const left = leaveFile(folders, { dataSource: 'survives', taskId: id, attempt: 1 })
    child.kill('SIGKILL')
    const other = await startWorker(scope, stores, folders, { allowedHosts: [input.host] })
    await waitUntil('the other worker runs the task', () => input.requested() === 2)
    input.release(rowsText(1, 2))
    const task = await ended(stores, id)
    assert.deepEqual([task?.state, task?.attempt, task?.worker], ['SUCCESS', 2, other.context.node().name])
    const segments = await loadSegmentRecords(database, { dataSource: 'survives' })
    assert.equal(segments.length, 2)
    assert.equal(existsSync(left), false)
    assert.deepEqual(filesIn(folders.storage), segments.map(({ payload }) => payload.loadSpec.path).sort())
    await waitUntil('its folders are gone', () => readdirSync(folders.work).length === 0)
  })

  it('leaves no files of a task that is shut down before it is retried', async (scope) => {
    const input = await startHeldInput(scope)
    const { child } = await startProcess(scope, input.host)
    const survivor = await startWorker(scope, stores, folders, { capacity: 0, allowedHosts: [input.host] })
    const startOne = async (dataSource: string, requested: number): Promise<string> => {
      const id = await survivor.submit(indexTask(dataSource, input.source))
      await waitUntil('the task is running', () => input.requested() === requested)
      return id
    }
    const one = await startOne('one', 1)
    const pushedByOne = leaveFile(folders, { dataSource: 'one', taskId: one, attempt: 1 })
    child.kill('SIGKILL')
    await survivor.request(`/task/${one}/shutdown`, 'POST')
    await waitUntil('its files are gone', () => !existsSync(pushedByOne))

    const next = await startProcess(scope, input.host)
    const two = await startOne('two', 2)
    const pushedByTwo = leaveFile(folders, { dataSource: 'two', taskId: two, attempt: 1 })
    next.child.kill('SIGKILL')
    // Only the store knows that this task has ended.
    assert.equal(await cancelTask(database, two, 'Ended'), true)
    await startProcess(scope, input.host)
    assert.deepEqual([existsSync(pushedByTwo), readdirSync(folders.work)], [false, []])
  })
})
