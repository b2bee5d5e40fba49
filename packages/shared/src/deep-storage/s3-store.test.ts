import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, beforeEach, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type S3Fault, type S3Request, startS3StandIn, temporaryFolder } from '../testing/index.ts'
import { isDiskFull, openStore } from './index.ts'
import { placeOf } from './test-s3.ts'

const standIn = await startS3StandIn({ after })
const folder = temporaryFolder({ after })
const [file, out] = [join(folder, 'file'), join(folder, 'out')]
const large = randomBytes(20_000_000)

const storeWith = (connection: Parameters<typeof placeOf>[1] = {}) =>
  openStore('deep storage', placeOf(standIn, connection))
const named = `deep storage [s3://segments] at [${standIn.url}]`

/** Injects a fault into the first `times` requests that match. */
function fail(fault: S3Fault, times = 1, matches: (request: S3Request) => boolean = () => true): void {
  let left = times
  standIn.fault = (request) => (matches(request) && left-- > 0 ? fault : undefined)
}

beforeEach(() => {
  standIn.fault = undefined
  standIn.objects.clear()
  standIn.uploads.clear()
  standIn.requests.length = 0
  writeFileSync(file, 'content')
})

describe('a request to S3', () => {
  for (const [name, fault] of [
    ['reports that it is busy', { status: 503, code: 'SlowDown' }],
    ['reports an internal error', { status: 500, code: 'InternalError' }],
    ['does not answer', 'noAnswer'],
    ['executes it, but its answer is lost', 'lostAnswer'],
  ] as const) {
    it(`is retried if the store ${name}`, async () => {
      const store = storeWith({ idleTimeoutMs: 500 })
      // The first upload also looks for abandoned ones.
      await store.put(file, 'x/1')
      for (const work of [
        () => store.put(file, 'x/0'),
        () => store.get('x/0', out),
        () => store.find('x/0'),
        () => store.list('').next(),
        () => store.remove('x/0'),
      ]) {
        fail(fault)
        await work()
      }
      assert.equal(readFileSync(out, 'utf8'), 'content')
      assert.deepEqual([...standIn.objects.keys()], ['x/1'])
    })
  }

  it('is retried until the store is back', async () => {
    const store = storeWith()
    await store.put(file, 'x/0')
    await standIn.stop()
    const got = store.get('x/0', out)
    await delay(1200)
    await standIn.start()
    await got
  })

  it('fails after the timeout, and names the store and the problem', async () => {
    const store = storeWith({ retryTimeoutMs: 300 })
    await standIn.stop()
    await assert.rejects(store.get('x/0', out), {
      code: 'unavailable',
      message: `Failed to read ${named}: ECONNREFUSED`,
    })
    await assert.rejects(store.put(file, 'x/0'), {
      code: 'unavailable',
      message: `Failed to write to ${named}: ECONNREFUSED`,
    })
    await standIn.start()
  })

  it('is not retried if it is refused', async () => {
    const cases = [
      [{ secretKey: 'wrong' }, 'SignatureDoesNotMatch (HTTP 403)', named],
      [{ accessKey: 'wrong' }, 'InvalidAccessKeyId (HTTP 403)', named],
      [{ bucket: 'none' }, 'NoSuchBucket (HTTP 404)', named.replace('segments', 'none')],
    ] as const
    for (const [connection, problem, place] of cases) {
      const store = storeWith(connection)
      const started = performance.now()
      await assert.rejects(store.put(file, 'x/0'), {
        code: 'unavailable',
        message: `Failed to write to ${place}: ${problem}`,
      })
      await assert.rejects(store.get('x/0', out), {
        code: 'unavailable',
        message: `Failed to read ${place}: ${problem}`,
      })
      assert.ok(performance.now() - started < 10_000)
    }
  })

  it('reports a full store', async () => {
    fail(
      { status: 507, code: 'XMinioStorageFull' },
      Number.POSITIVE_INFINITY,
      ({ method }) => method === 'PUT',
    )
    await assert.rejects(storeWith().put(file, 'x/0'), (error: Error) => {
      assert.equal(error.message, `Failed to write to ${named}: the S3 service has no space left`)
      return isDiskFull(error)
    })
  })
})

describe('a download from S3', () => {
  it('continues where it was interrupted', async () => {
    const store = storeWith()
    writeFileSync(file, large)
    const stored = await store.put(file, 'x/0')
    standIn.requests.length = 0
    fail({ cutAfterBytes: 5_000_000 }, 2)
    assert.equal((await store.get('x/0', out, { expected: stored })).checksum, stored.checksum)
    assert.ok(readFileSync(out).equals(large))
    const ranges = standIn.requests.map(({ range }) => range)
    assert.equal(ranges.length, 3)
    assert.equal(ranges[0], undefined)
    assert.match(ranges[1] ?? '', /^bytes=[1-9]\d*-$/)
  })

  it('of a file that changed in between is damaged', async () => {
    const store = storeWith()
    writeFileSync(file, large)
    const expected = await store.put(file, 'x/0')
    fail({ cutAfterBytes: 5_000_000 })
    const got = store.get('x/0', out, { expected })
    standIn.objects.set('x/0', { bytes: randomBytes(large.length), modifiedAt: new Date() })
    await assert.rejects(got, /File \[x\/0\] is damaged: expected checksum/)
  })
})

describe('a large upload to S3', () => {
  const isPart = ({ query }: S3Request) => query.has('partNumber')
  const isCompletion = ({ method, query }: S3Request) => method === 'POST' && query.has('uploadId')

  for (const [name, fault, matches] of [
    ['a part is refused for the moment', { status: 503, code: 'SlowDown' }, isPart],
    ['the answer to a part is lost', 'lostAnswer', isPart],
    ['the answer to its completion is lost', 'lostAnswer', isCompletion],
  ] as const) {
    it(`succeeds if ${name}`, async () => {
      writeFileSync(file, large)
      fail(fault, 1, matches)
      await storeWith().put(file, 'x/0')
      assert.ok(standIn.objects.get('x/0')?.bytes.equals(large))
      assert.equal(standIn.uploads.size, 0)
    })
  }

  it('leaves nothing behind if it fails', async () => {
    writeFileSync(file, large)
    fail({ status: 403, code: 'AccessDenied' }, 1, ({ query }) => query.get('partNumber') === '2')
    await assert.rejects(storeWith().put(file, 'x/0'), {
      message: `Failed to write to ${named}: AccessDenied (HTTP 403)`,
    })
    assert.deepEqual([standIn.objects.size, standIn.uploads.size], [0, 0])
  })

  it('removes the parts of uploads whose writers died long ago', async () => {
    const parts = new Map([[1, Buffer.from('torn')]])
    standIn.uploads.set('old', { key: 'x/1', initiatedAt: new Date(1), parts })
    standIn.uploads.set('young', { key: 'x/2', initiatedAt: new Date(), parts })
    await storeWith().put(file, 'x/0')
    assert.deepEqual([...standIn.uploads.keys()], ['young'])
  })
})
