import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { after, beforeEach, describe, it } from 'node:test'
import { parseSegmentId, type Segment, segmentId } from '@svc/domain/segment'
import { createLocalDeepStorage } from '@svc/shared/deep-storage'
import {
  claimTaskWithNeeds,
  finishAttempt,
  loadSegmentKills,
  loadSegmentRecords,
  loadTask,
  markUnused,
  saveTask,
  scopedTaskId,
  sql,
} from '@svc/shared/postgres'
import { killSegments, parseKillSpec } from '@svc/shared/tasks'
import { filesIn, indexTask, rowsOf, rowsText, storeSegments, waitUntil } from '@svc/shared/testing'
import { ended, leaveFile, openTaskStores, startHeldInput, startWorker } from './testing/test-worker.ts'

const { stores, database, folders } = await openTaskStores({ after })
beforeEach(async () => {
  await database.query(sql`DELETE FROM tasks`)
  await database.query(sql`DELETE FROM segments`)
  await stores.emptyQueues()
})

const segmentsOf = (dataSource: string) => loadSegmentRecords(database, { dataSource })
/** Returns the child processes of this process. */
const children = (): number[] =>
  readdirSync('/proc/self/task').flatMap((thread) =>
    readFileSync(`/proc/self/task/${thread}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  )

function daySegment(dataSource: string, day: number): Segment {
  const start = Date.UTC(2026, 0, day)
  const key = {
    dataSource,
    interval: { start, end: start + 86_400_000 },
    version: '2026-01-01',
    partitionNum: 0,
  }
  return { ...key, id: segmentId(key), partitions: 0, sizeBytes: 1, totalRows: 1 }
}
const store = (segment: Segment, file: string) => storeSegments(database, [segment], file)

describe('a task', () => {
  it('publishes its segments, stores its files, keeps its log, and removes its folder', async (scope) => {
    const worker = await startWorker(scope, stores, folders)
    const id = await worker.submit(indexTask('koalas', rowsOf(1, 2, 2)))
    assert.match(id, /^index_parallel_koalas_[a-p]{8}_\d{4}-/)
    const task = await ended(stores, id)
    assert.deepEqual(
      [task?.state, task?.attempt, task?.errorMessage, task?.submittedBy],
      ['SUCCESS', 1, null, 'allowAll'],
    )
    assert.equal(task?.worker, worker.context.node().name)
    const segments = await segmentsOf('koalas')
    assert.deepEqual(
      segments.map(({ payload, used }) => [payload.interval.slice(0, 10), payload.totalRows, used]),
      [
        ['2026-01-01', 1, true],
        ['2026-01-02', 2, true],
      ],
    )
    for (const { payload } of segments) {
      assert.ok(payload.loadSpec.path.startsWith('koalas/'))
      assert.ok(existsSync(path.join(folders.storage, payload.loadSpec.path)))
      assert.equal(payload.dimensions, 'n')
    }
    await waitUntil('the slot is free', () => worker.runner.running().length === 0)
    assert.deepEqual(readdirSync(folders.work), [])
    assert.ok((worker.runner.lastCompletedAt() ?? 0) > 0)
    const { json } = await worker.request(`/task/${id}/status`)
    const { status } = json as { status: Record<string, unknown> }
    assert.deepEqual(
      [status.statusCode, status.status, status.runnerStatusCode, status.dataSource],
      ['SUCCESS', 'SUCCESS', 'NONE', 'koalas'],
    )

    // The entire log of the task, and parts of it.
    const log = readFileSync(path.join(folders.logs, `${readdirSync(folders.logs)[0]}`), 'utf8')
    assert.match(log, /Task started.*\n.*Wrote segments/)
    const parts: readonly [query: string, expected: string][] = [
      ['', log],
      ['?offset=0', log],
      ['?offset=10', log.slice(10)],
      ['?offset=-10', log.slice(-10)],
      ['?offset=1000000', ''],
      ['?offset=-1000000', log],
    ]
    for (const [query, expected] of parts) {
      const answer = await worker.request(`/task/${id}/log${query}`)
      assert.deepEqual([answer.status, answer.text], [200, expected], query)
      assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8')
    }
    const head = await worker.request(`/task/${id}/log`, 'HEAD')
    assert.deepEqual([head.status, head.headers['content-length'], head.text], [200, String(log.length), ''])
    for (const query of ['?offset=x', '?offset=1.5'])
      assert.equal((await worker.request(`/task/${id}/log${query}`)).status, 400)
    assert.equal((await worker.request('/task/unknown/log')).status, 404)
  })

  it('with an ID that the user chose keeps its own log, even if tasks of other datasources have the same ID', async (scope) => {
    const worker = await startWorker(scope, stores, folders)
    const chosen = (dataSource: string, rows: object) => ({ ...indexTask(dataSource, rows, {}), id: 'mine' })
    const log = async () => {
      const { status, text } = await worker.request('/task/mine/log')
      return { status, starts: text.match(/Task started/g)?.length, hasFailed: /Task failed/.test(text) }
    }
    // Users who may read only one of the datasources may choose an ID that exists in another one.
    await saveTask(database, {
      ...{
        id: scopedTaskId('mine', 'koalas'),
        groupId: 'mine',
        type: 'index_parallel',
        dataSource: 'koalas',
      },
      ...{ priority: 50, submittedBy: 'test', payload: chosen('koalas', rowsOf(1)) },
    })
    await ended(stores, scopedTaskId('mine', 'koalas'))
    assert.deepEqual(await log(), { status: 200, starts: 1, hasFailed: false })
    await saveTask(database, {
      ...{ id: scopedTaskId('mine', 'wiki'), groupId: 'mine', type: 'index_parallel', dataSource: 'wiki' },
      ...{ priority: 50, submittedBy: 'test' },
      payload: chosen('wiki', { type: 'inline', data: '{"t":"never","n":1}' }),
    })
    await ended(stores, scopedTaskId('mine', 'wiki'))
    // The log of the newest task that the caller may read.
    assert.deepEqual(await log(), { status: 200, starts: 1, hasFailed: true })
  })

  it('fails if its type is unknown, such as one of a newer version', async (scope) => {
    await startWorker(scope, stores, folders)
    const task = { id: 'odd', groupId: 'odd', type: 'odd', dataSource: 'koalas', priority: 50 }
    await saveTask(database, { ...task, payload: { type: 'odd' }, submittedBy: 'test' })
    const { state, errorMessage } = (await ended(stores, 'odd'))!
    assert.deepEqual(
      [state, errorMessage],
      ['FAILED', 'Invalid value [odd] for [type]: expected one of [index_parallel, compact, kill]'],
    )
  })

  it('reports why it failed, and leaves nothing behind', async (scope) => {
    const worker = await startWorker(scope, stores, folders)
    const before = filesIn(folders.storage)
    const id = await worker.submit(indexTask('broken', { type: 'inline', data: '{"t":"never","n":1}' }, {}))
    const task = await ended(stores, id)
    assert.equal(task?.state, 'FAILED')
    assert.match(task.errorMessage ?? '', /never/)
    assert.deepEqual(await segmentsOf('broken'), [])
    assert.deepEqual(filesIn(folders.storage), before)
    assert.match((await worker.request(`/task/${id}/log`)).text, /Task failed/)
  })

  it('reports why publishing failed, and removes its files', async (scope) => {
    const worker = await startWorker(scope, stores, folders)
    const before = filesIn(folders.storage)
    await store(
      { ...daySegment('other', 1), interval: { start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 0, 3) } },
      'x',
    )
    const id = await worker.submit(indexTask('other', rowsOf(1), { appendToExisting: true }))
    const task = await ended(stores, id)
    assert.equal(task?.state, 'FAILED')
    assert.match(
      task.errorMessage ?? '',
      /Cannot append rows of .* to datasource \[other\]: .*has a different interval/,
    )
    assert.equal((await segmentsOf('other')).length, 1)
    await waitUntil('the files are gone', () => filesIn(folders.storage).length === before.length)
  })

  it('fails when its process is killed, and says so', async (scope) => {
    const input = await startHeldInput(scope)
    const worker = await startWorker(scope, stores, folders, { allowedHosts: [input.host] })
    const before = new Set(children())
    const id = await worker.submit(indexTask('killed', input.source))
    await waitUntil('the task is running', () => input.requested() === 1)
    const pushed = leaveFile(folders, { dataSource: 'killed', taskId: id, attempt: 1 })
    const others = leaveFile(folders, { dataSource: 'killed', taskId: 'another', attempt: 1 })
    const [peon] = children().filter((pid) => !before.has(pid))
    process.kill(peon ?? assert.fail('no process'), 'SIGKILL')
    const task = await ended(stores, id)
    assert.deepEqual([task?.state, task?.errorMessage], ['FAILED', 'The task process died (SIGKILL)'])
    assert.deepEqual(await segmentsOf('killed'), [])
    assert.deepEqual([existsSync(pushed), existsSync(others)], [false, true])
    assert.deepEqual(readdirSync(folders.work), [])
  })

  it('is not retried after its worker died five times', async (scope) => {
    const worker = await startWorker(scope, stores, folders)
    await database.query(sql`
      INSERT INTO tasks (id, group_id, type, datasource, priority, payload, created_at, submitted_by, state, attempt,
        claimed_until)
      VALUES ('deadly', 'deadly', 'index_parallel', 'd', 0, '{}', now(), '', 'RUNNING', 5, '-infinity')`)
    const left = [1, 5].map((attempt) => leaveFile(folders, { dataSource: 'd', taskId: 'deadly', attempt }))
    const task = await ended(stores, 'deadly')
    assert.deepEqual(
      [task?.state, task?.errorMessage],
      ['FAILED', 'The worker died during each of [5] attempts'],
    )
    assert.deepEqual(left.map(existsSync), [false, false])
    await waitUntil('its slot is free', () => worker.runner.running().length === 0)
  })
})

describe('a shutdown', () => {
  it('permanently ends a running task, which publishes nothing', async (scope) => {
    const input = await startHeldInput(scope)
    const worker = await startWorker(scope, stores, folders, { allowedHosts: [input.host] })
    const before = new Set(children())
    const id = await worker.submit(indexTask('stopped', input.source))
    await waitUntil('the task is running', () => input.requested() === 1)
    assert.deepEqual(worker.runner.running(), [id])
    const pushed = leaveFile(folders, { dataSource: 'stopped', taskId: id, attempt: 1 })
    const answer = await worker.request(`/task/${id}/shutdown`, 'POST')
    assert.deepEqual([answer.status, answer.json], [200, { task: id }])
    const task = await loadTask(database, id)
    assert.deepEqual([task?.state, task?.errorMessage], ['FAILED', 'Shut down by [allowAll]'])
    await waitUntil('its process is gone', () => children().every((pid) => before.has(pid)))
    await waitUntil('its slot is free', () => worker.runner.running().length === 0)
    assert.deepEqual([existsSync(pushed), readdirSync(folders.work)], [false, []])
    input.release(rowsText(1))
    assert.equal((await worker.request(`/task/${id}/shutdown`, 'POST')).status, 200)
    assert.equal((await loadTask(database, id))?.errorMessage, 'Shut down by [allowAll]')
    assert.deepEqual(await segmentsOf('stopped'), [])
    assert.equal((await worker.request('/task/unknown/shutdown', 'POST')).status, 404)
  })

  it('keeps a waiting task from running', async (scope) => {
    const worker = await startWorker(scope, stores, folders, { capacity: 0 })
    const id = await worker.submit(indexTask('waiting', rowsOf(1)))
    await worker.request(`/task/${id}/shutdown`, 'POST')
    const other = await startWorker(scope, stores, folders)
    await other.submit({ ...indexTask('after', rowsOf(1)), id: 'after' })
    await ended(stores, 'after')
    assert.equal((await loadTask(database, id))?.attempt, 0)
  })
})

describe('a kill task', () => {
  it('deletes unused segments with their files, but no used segments', async (scope) => {
    const worker = await startWorker(scope, stores, folders)
    const index = await worker.submit(indexTask('erased', rowsOf(1, 2)))
    await ended(stores, index)
    const [first, second] = await segmentsOf('erased')
    await markUnused(database, [first?.payload.identifier ?? ''], { kind: 'request', identity: 'me' }, 0)
    const body = { type: 'kill', dataSource: 'erased', interval: '2026-01-01/2026-02-01' }
    const task = await ended(stores, await worker.submit(body))
    assert.equal(task?.state, 'SUCCESS')
    assert.deepEqual(
      (await segmentsOf('erased')).map(({ payload }) => payload.identifier),
      [second?.payload.identifier],
    )
    assert.equal(existsSync(path.join(folders.storage, first?.payload.loadSpec.path ?? '')), false)
    assert.equal(existsSync(path.join(folders.storage, second?.payload.loadSpec.path ?? '')), true)
    const kills = await loadSegmentKills(
      database,
      'erased',
      parseSegmentId('erased', first!.payload.identifier)!,
      1,
    )
    assert.deepEqual(kills, {
      newest: [{ shownId: task.shownId, finishedAt: kills.newest[0]?.finishedAt, count: 1 }],
      count: 1,
    })
  })

  it('waits for the lock on its interval', async (scope) => {
    const kill = { type: 'kill', dataSource: 'locked', interval: '2026-01-01/2026-02-01' }
    const lock = {
      dataSource: 'locked',
      interval: { start: Date.UTC(2026, 0, 9), end: Date.UTC(2026, 0, 10) },
    }
    const busy = { name: 'w', host: 'w', port: 1, tlsPort: null }
    const claim = async (id: string, priority: number) => {
      const task = {
        id,
        groupId: id,
        type: 'compact',
        dataSource: 'locked',
        priority,
        payload: {},
        submittedBy: '',
      }
      await saveTask(database, task)
      const needs = { lock: { ...lock, priority }, limit: undefined }
      return (await claimTaskWithNeeds(database, id, busy, 60_000, needs)).kind
    }
    assert.equal(await claim('compaction', 25), 'claimed')
    const worker = await startWorker(scope, stores, folders)
    const id = await worker.submit(kill)
    await waitUntil('the task is waiting', async () => (await loadTask(database, id))?.waiting === true)
    await finishAttempt(database, 'compaction', 1, { state: 'SUCCESS', errorMessage: null })
    assert.equal((await ended(stores, id))?.state, 'SUCCESS')
  })

  it('deletes nothing once its attempt is no longer the current one', async () => {
    const segment = daySegment('erased', 1)
    await store(segment, 'x')
    await markUnused(database, [segment.id], { kind: 'request', identity: 'me' }, 0)
    const spec = parseKillSpec({ type: 'kill', dataSource: 'erased', interval: '2026-01-01/2026-02-01' })
    const storage = createLocalDeepStorage({ rootDirectory: folders.storage })
    const claim = { taskId: 'gone', attempt: 1, claimMs: 1000 }
    const earlier = { erasedSegments: 0, filesToRemove: [] }
    const { signal } = new AbortController()
    assert.equal(await killSegments(database, storage, claim, spec, earlier, signal), undefined)
    assert.equal((await segmentsOf('erased')).length, 1)
  })
})
