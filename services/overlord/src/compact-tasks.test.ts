import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { defaultClusterConfig } from '@svc/domain/compaction'
import type { Failure } from '@svc/domain/failure'
import { payloadOf, type SegmentPayload, segmentId, virtualLoadSpec } from '@svc/domain/segment'
import { parseIndexSpec } from '@svc/shared/ingestion'
import {
  changeClusterCompactionConfig,
  claimTaskWithNeeds,
  copySegments,
  loadCompactionStates,
  loadSegmentRecords,
  loadStoredSegments,
  loadTask,
  saveTask,
  sql,
} from '@svc/shared/postgres'
import { parseCompactSpec, prepareCompaction, publishCompaction, publishIndex } from '@svc/shared/tasks'
import { filesIn, indexTask, rowsOf, waitUntil } from '@svc/shared/testing'
import { ended, openTaskStores, startWorker } from './testing/test-worker.ts'

const { stores, database, folders } = await openTaskStores({ after })
const author = { author: '', comment: '', identity: 'admin', ip: '127.0.0.1' }
const now = () => Date.now()
beforeEach(async () => {
  for (const table of ['tasks', 'segments', 'compaction_states', 'dynamic_configs']) {
    await database.query(sql([`DELETE FROM ${table}`]))
  }
  await stores.emptyQueues()
})

const compactTask = (more: object = {}) => ({
  type: 'compact',
  dataSource: 'wiki',
  ioConfig: { type: 'compact', inputSpec: { type: 'interval', interval: '2026-01-01/2026-02-01' } },
  granularitySpec: { segmentGranularity: 'MONTH' },
  ...more,
})
const append = { appendToExisting: true }
const used = () => loadStoredSegments(database, { dataSource: 'wiki', used: true })

describe('a compact task', () => {
  it('creates one segment for a month, and stores its compaction state', async (scope) => {
    const worker = await startWorker(scope, stores, folders)
    for (const days of [
      [1, 2],
      [1, 3],
    ] as const) {
      await ended(stores, await worker.submit(indexTask('wiki', rowsOf(...days), append)))
    }
    const before = await used()
    assert.equal(before.length, 4)
    assert.equal((await ended(stores, await worker.submit(compactTask())))?.state, 'SUCCESS')
    const [month, ...others] = (await used()).filter(({ id }) => !before.some((old) => old.id === id))
    assert.equal(others.length, 0)
    assert.deepEqual(
      [month?.totalRows, month?.partitions, month?.interval],
      [4, 1, { start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 1, 1) }],
    )
    const [record] = await loadSegmentRecords(database, { dataSource: 'wiki', ids: [month?.id ?? ''] })
    const states = await loadCompactionStates(database)
    assert.deepEqual(record?.payload.lastCompactionState, states.get(month?.compactionState ?? -1))
    assert.match(record?.payload.indexingStateFingerprint ?? '', /^[\da-f]{64}$/)
    const [stored] = await database.query<{ text: string }>(
      sql`SELECT payload::text AS text FROM segments WHERE id = ${month?.id}`,
    )
    assert.match(stored?.text ?? '', /"maxTotalRows":9223372036854775807\}/)

    await changeClusterCompactionConfig(
      database,
      () => ({ ...defaultClusterConfig, useSupervisors: true, storeCompactionStatePerSegment: false }),
      author,
      now(),
    )
    assert.equal((await ended(stores, await worker.submit(compactTask())))?.state, 'SUCCESS')
    const again = (await used()).filter(({ version }) => version > (month?.version ?? ''))
    const [lean] = await loadSegmentRecords(database, { dataSource: 'wiki', ids: again.map(({ id }) => id) })
    assert.equal(lean?.payload.lastCompactionState, undefined)
    assert.equal(lean?.payload.indexingStateFingerprint, record?.payload.indexingStateFingerprint)
    assert.equal(again[0]?.compactionState, month?.compactionState)
  })

  it('succeeds if there is nothing to compact', async (scope) => {
    const worker = await startWorker(scope, stores, folders)
    assert.equal((await ended(stores, await worker.submit(compactTask())))?.state, 'SUCCESS')
    assert.deepEqual(await used(), [])
  })

  it('reports what is wrong with its interval, and changes nothing', async (scope) => {
    const worker = await startWorker(scope, stores, folders)
    await ended(stores, await worker.submit(indexTask('wiki', rowsOf(1))))
    const before = [await used(), filesIn(folders.storage)]
    const inputSpec = { type: 'interval', interval: '2026-01-01T00:00/2026-01-01T06:00' }
    const id = await worker.submit(compactTask({ ioConfig: { inputSpec }, granularitySpec: null }))
    const task = await ended(stores, id)
    assert.match(task?.errorMessage ?? '', /covers only part of \[2026-01-01/)
    assert.deepEqual([await used(), filesIn(folders.storage)], before)
  })

  it('is rejected with the path of the invalid field', async (scope) => {
    const worker = await startWorker(scope, stores, folders)
    for (const [more, field] of [
      [{ colour: 'red' }, 'colour'],
      [{ ioConfig: { inputSpec: { type: 'interval', interval: 'x' } } }, 'ioConfig.inputSpec.interval'],
      [{ tuningConfig: { partitionsSpec: { type: 'magic' } } }, 'tuningConfig.partitionsSpec.type'],
      [{ context: { priority: 'high' } }, 'context.priority'],
    ] as const) {
      await assert.rejects(worker.submit(compactTask(more)), ({ message }: Error) => message.includes(field))
    }
  })
})

describe('a compact task of virtual segments', () => {
  const local = { type: 'local', path: 'x', checksum: 'sha256:00' } as const
  async function store(day: number, loadSpec: SegmentPayload['loadSpec'], totalRows = 100): Promise<void> {
    const interval = { start: Date.UTC(2026, 0, day), end: Date.UTC(2026, 0, day + 1) }
    const key = { dataSource: 'wiki', interval, version: 'v1', partitionNum: 0 }
    const segment = { ...key, id: segmentId(key), partitions: 1, sizeBytes: totalRows * 7, totalRows }
    const payload = payloadOf(segment, { loadSpec, dimensions: 'page', metrics: 'count' })
    await database.transaction((transaction) =>
      copySegments(transaction, [{ segment, payload }], undefined, 0),
    )
  }

  it('computes new virtual segments, and locks and publishes as usual', async (scope) => {
    for (const day of [1, 2, 9]) await store(day, virtualLoadSpec)
    const files = filesIn(folders.storage)
    const worker = await startWorker(scope, stores, folders)
    const id = await worker.submit(
      compactTask({ tuningConfig: { partitionsSpec: { type: 'hashed', numShards: 2 } } }),
    )
    assert.equal((await ended(stores, id))?.state, 'SUCCESS')
    const records = (await loadSegmentRecords(database, { dataSource: 'wiki', used: true })).filter(
      ({ payload }) => payload.version !== 'v1',
    )
    assert.deepEqual(
      records.map(({ payload }) => [payload.totalRows, payload.size, payload.loadSpec, payload.dimensions]),
      [
        [150, 1050, virtualLoadSpec, 'page'],
        [150, 1050, virtualLoadSpec, 'page'],
      ],
    )
    assert.ok(records.every(({ payload }) => payload.lastCompactionState !== undefined))
    assert.deepEqual(filesIn(folders.storage), files, 'nothing was written')
  })

  it('stops immediately when shut down, and publishes nothing', async (scope) => {
    await store(1, virtualLoadSpec)
    const worker = await startWorker(scope, stores, folders, {
      properties: { 'svc.simulation.compactionDuration': 'PT1H' },
    })
    const id = await worker.submit(compactTask())
    await waitUntil('the task is running', () => worker.runner.running().length === 1)
    assert.equal((await worker.request(`/task/${id}/shutdown`, 'POST')).status, 200)
    await waitUntil('the task has ended', () => worker.runner.running().length === 0)
    assert.equal((await ended(stores, id))?.state, 'FAILED')
    assert.equal((await used()).length, 1)
  })

  it('fails if some segments are not virtual', async (scope) => {
    await store(1, virtualLoadSpec)
    await store(2, local)
    const worker = await startWorker(scope, stores, folders)
    const task = await ended(stores, await worker.submit(compactTask()))
    assert.match(task?.errorMessage ?? '', /virtual segments and regular segments such as \[wiki_2026-01-02/)
    assert.equal((await used()).length, 2)
  })
})

/** Saves a compact task and claims it with the lock on its interval. */
async function claimed(id: string, priority = 25) {
  const payload = compactTask()
  const spec = parseCompactSpec(payload)
  const { dataSource, interval } = spec
  await saveTask(database, {
    id,
    groupId: id,
    type: 'compact',
    dataSource,
    priority,
    payload,
    submittedBy: '',
  })
  const lock = { dataSource, interval, priority }
  const worker = { name: 'w', host: 'w', port: 1, tlsPort: null }
  const claim = await claimTaskWithNeeds(database, id, worker, 60_000, { lock, limit: undefined })
  assert.equal(claim.kind, 'claimed')
  const prepared = await prepareCompaction(database, spec)
  const attempt = { taskId: id, attempt: 1, priority, progress: null, storageType: 'local' } as const
  assert.ok(prepared.work.kind === 'compact')
  const interval0 = prepared.work.order.buckets[0]?.interval ?? interval
  const written = {
    interval: interval0,
    path: 'p',
    checksum: 'sha256:0',
    sizeBytes: 1,
    totalRows: 1,
    dimensions: [],
    metrics: [],
  }
  const publish = () =>
    publishCompaction(
      database,
      attempt,
      spec,
      prepared,
      { segments: [written], columns: { dimensions: [], metrics: [] } },
      now(),
    )
  return { publish }
}

/** Publishes rows for January 1, as a running index task with the given priority. */
async function publishRows(id: string, priority: number) {
  const payload = indexTask('wiki', rowsOf(1), append)
  await saveTask(database, {
    id,
    groupId: id,
    type: 'index_parallel',
    dataSource: 'wiki',
    priority,
    payload,
    submittedBy: '',
  })
  const worker = { name: 'w', host: 'w', port: 1, tlsPort: null }
  await claimTaskWithNeeds(database, id, worker, 60_000, { lock: undefined, limit: undefined })
  const written = {
    interval: { start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 0, 2) },
    path: id,
    checksum: 'sha256:1',
    sizeBytes: 1,
    totalRows: 1,
    dimensions: [],
    metrics: [],
  }
  const spec = parseIndexSpec(payload, { allowedRoots: [], allowedHosts: [] })
  return await publishIndex(
    database,
    { taskId: id, attempt: 1, priority, progress: null, storageType: 'local' },
    spec,
    [written],
    now(),
  )
}

describe('rows added during a compaction', () => {
  it('are published immediately by a task with a higher priority, and the compaction fails', async () => {
    assert.equal(await publishRows('first', 50), 'published')
    const { publish } = await claimed('compaction')
    assert.equal(await publishRows('second', 50), 'published')
    assert.equal((await loadTask(database, 'compaction'))?.state, 'FAILED')
    assert.equal(await publish(), 'notTheAttempt')
    assert.equal((await used()).length, 2)
  })

  it('wait if the compaction has the same or a higher priority', async () => {
    assert.equal(await publishRows('first', 50), 'published')
    const { publish } = await claimed('compaction', 50)
    assert.equal(await publishRows('second', 50), 'intervalTaken')
    assert.equal((await loadTask(database, 'second'))?.state, 'RUNNING')
    assert.equal(await publish(), 'published')
  })

  it('are never overshadowed by a compaction that has not read them', async () => {
    await publishRows('first', 50)
    const { publish } = await claimed('compaction')
    await database.query(sql`UPDATE segments SET used = false, used_changed_at = now()`)
    await assert.rejects(
      publish(),
      ({ code, message }: Failure) => code === 'conflict' && /have changed/.test(message),
    )
    assert.equal((await loadTask(database, 'compaction'))?.state, 'RUNNING', 'its worker stores the failure')
    assert.deepEqual(await used(), [])
  })
})
