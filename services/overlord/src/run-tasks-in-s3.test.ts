import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { loadSegmentRecords, loadTask, markUnused, sql } from '@svc/shared/postgres'
import { indexTask, rowsOf, standInBucket, startS3StandIn, waitUntil } from '@svc/shared/testing'
import { ended, openTaskStores, startWorker } from './testing/test-worker.ts'

const { stores, database, folders } = await openTaskStores({ after })
const standIn = await startS3StandIn({ after })
const properties = {
  'svc.storage.type': 's3',
  'svc.storage.bucket': standInBucket,
  'svc.storage.baseKey': 'segments',
  'svc.indexer.logs.type': 's3',
  'svc.indexer.logs.s3Bucket': standInBucket,
  'svc.indexer.logs.s3Prefix': 'logs',
  'svc.s3.accessKey': standIn.accessKey,
  'svc.s3.secretKey': standIn.secretKey,
  'svc.s3.endpoint.url': standIn.url,
  'svc.s3.enablePathStyleAccess': 'true',
}
const named = `deep storage [s3://${standInBucket}/segments] at [${standIn.url}]`

beforeEach(async () => {
  await database.query(sql`DELETE FROM tasks`)
  await database.query(sql`DELETE FROM segments`)
  await stores.emptyQueues()
  standIn.objects.clear()
  standIn.fault = undefined
})

const keys = (prefix: string): string[] => [...standIn.objects.keys()].filter((key) => key.startsWith(prefix))
const segmentsOf = (dataSource: string) => loadSegmentRecords(database, { dataSource })
const isSegment = ({ method, key }: { method: string; key: string }): boolean =>
  method === 'PUT' && key.startsWith('segments/')

describe('a task with deep storage and logs in S3', () => {
  it('stores its files and its log, which every overlord reads', async (scope) => {
    const worker = await startWorker(scope, stores, folders, { properties })
    const id = await worker.submit(indexTask('koalas', rowsOf(1, 2)))
    assert.deepEqual([(await ended(stores, id))?.state], ['SUCCESS'])
    const loadSpecs = (await segmentsOf('koalas')).map(({ payload }) => payload.loadSpec)
    assert.deepEqual(
      loadSpecs.map(({ type }) => type),
      ['s3', 's3'],
    )
    assert.deepEqual(keys('segments/').sort(), loadSpecs.map(({ path }) => `segments/${path}`).sort())
    const path = `/task/${encodeURIComponent(id)}/log`
    const log = (await worker.request(path)).text
    assert.match(log, /^\{"timestamp":.*"message":"Task started"/)
    assert.equal((await worker.request(`${path}?offset=-10`)).text, log.slice(-10))
    assert.equal((await worker.request(`${path}?offset=${log.length}`)).text, '')
  })

  it('waits for S3 that is down for a while', async (scope) => {
    const worker = await startWorker(scope, stores, folders, { properties })
    await standIn.stop()
    const id = await worker.submit(indexTask('koalas', rowsOf(1)))
    await waitUntil('the task runs', async () => (await loadTask(database, id))?.state === 'RUNNING')
    await standIn.start()
    assert.equal((await ended(stores, id))?.state, 'SUCCESS')
    assert.equal(keys('segments/').length, 1)
    assert.equal(keys('logs/').length, 1)
  })

  for (const [what, status, code, problem] of [
    ['refuses to store it', 403, 'AccessDenied', 'AccessDenied (HTTP 403)'],
    ['is full', 507, 'XMinioStorageFull', 'the S3 service has no space left'],
  ] as const) {
    it(`fails with a clear message if S3 ${what}, and leaves nothing behind`, async (scope) => {
      const worker = await startWorker(scope, stores, folders, { properties })
      let stored = 0
      standIn.fault = (request) => (isSegment(request) && stored++ > 0 ? { status, code } : undefined)
      const task = await ended(stores, await worker.submit(indexTask('koalas', rowsOf(1, 2))))
      assert.deepEqual(
        [task?.state, task?.errorMessage],
        ['FAILED', `Failed to write to ${named}: ${problem}`],
      )
      assert.deepEqual(await segmentsOf('koalas'), [])
      assert.deepEqual(keys('segments/'), [])
    })
  }

  it('deletes unused segments once S3 is back', async (scope) => {
    const worker = await startWorker(scope, stores, folders, { properties })
    await ended(stores, await worker.submit(indexTask('erased', rowsOf(1, 2))))
    const segments = await segmentsOf('erased')
    const ids = segments.map(({ payload }) => payload.identifier)
    await markUnused(database, ids, { kind: 'request', identity: 'me' }, 0)
    await standIn.stop()
    const id = await worker.submit({
      type: 'kill',
      dataSource: 'erased',
      interval: '2026-01-01/2026-02-01',
    })
    await waitUntil('the rows are gone', async () => (await segmentsOf('erased')).length === 0)
    assert.equal((await loadTask(database, id))?.state, 'RUNNING')
    await standIn.start()
    assert.equal((await ended(stores, id))?.state, 'SUCCESS')
    assert.deepEqual(keys('segments/'), [])
  })
})
