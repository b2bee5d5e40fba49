import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '@svc/shared/testing'
import { flights, flightsTask, submitTask, untilTaskSucceeds } from './flights.ts'
import { cachedSegments, storedSegments } from './segments.ts'
import { type CommandResult, svcCommand } from './svc-command.ts'
import { startTestCluster } from './test-cluster.ts'
import { untilLoaded } from './until-loaded.ts'

const timeoutMs = 120_000

/** Kills the server as soon as `isInTheMiddle`, and starts it again after a while. */
async function interrupt(s3: S3Server, description: string, isInTheMiddle: () => boolean): Promise<void> {
  await waitUntil(description, isInTheMiddle, Boolean, { timeoutMs, pollMs: 2 })
  await s3.kill()
  await delay(2000)
  await s3.start()
}

function runSvcInBackground(...args: string[]): Promise<CommandResult> {
  return new Promise((resolve) => {
    execFile(svcCommand, args, { timeout: timeoutMs }, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code ?? -1), stdout, stderr })
    })
  })
}

const filesBelow = (where: string, extension: string): number =>
  existsSync(where)
    ? readdirSync(where, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith(extension))
        .length
    : 0

/** An S3 server with an empty bucket. */
export interface S3Server {
  readonly url: string
  readonly bucket: string
  readonly accessKey: string
  readonly secretKey: string
  /** Returns the keys of all objects that start with a prefix. */
  keys(prefix: string): string[]
  /** Ends the server. Its port refuses connections afterward. */
  kill(): Promise<void>
  /** Starts the server again, and waits until it accepts connections. */
  start(): Promise<void>
}

/**
 * Starts a cluster, and declares its tests: its S3 server is killed in the middle of everything that uses it. They write
 * to `folder`.
 */
export async function testClusterOnS3(s3: S3Server, folder: string): Promise<void> {
  const { dataSource, days, rows } = flights
  const connection = [
    `svc.s3.endpoint.url=${s3.url}`,
    `svc.s3.accessKey=${s3.accessKey}`,
    `svc.s3.secretKey=${s3.secretKey}`,
    'svc.s3.enablePathStyleAccess=true',
    'svc.storage.type=s3',
    `svc.storage.bucket=${s3.bucket}`,
  ]
  const cluster = await startTestCluster({
    profile: 'plain',
    historicals: '_default_tier=2',
    set: [
      ...connection,
      'svc.storage.baseKey=segments',
      'svc.indexer.logs.type=s3',
      `svc.indexer.logs.s3Bucket=${s3.bucket}`,
      'svc.indexer.logs.s3Prefix=logs',
      'coordinator.svc.coordinator.period=PT0.5S',
    ],
  })
  after(() => cluster.end())
  const { router, store, home } = cluster
  const backup = path.join(folder, 'backup')

  const setReplicas = (replicas: number) =>
    router.post(`/svc/coordinator/v1/rules/${dataSource}`, [
      { type: 'loadForever', tieredReplicants: { _default_tier: replicas }, useDefaultTierForNull: true },
    ])
  const loadedFiles = () =>
    ['historical-1', 'historical-2'].flatMap((name) => cachedSegments(cluster, name)).length
  const stored = async (isUsed = true) =>
    (await storedSegments(store, dataSource)).filter(({ used }) => used === isUsed)

  /** Every file of a segment is in the bucket, and nothing else is. */
  async function checkFiles(baseKey = 'segments'): Promise<void> {
    const paths = (await storedSegments(store, dataSource)).map((segment) => `${baseKey}/${segment.path}`)
    assert.deepEqual(s3.keys(`${baseKey}/`).sort(), paths.sort())
  }

  async function checkRows(): Promise<void> {
    const json = { query: `SELECT count(*), sum(distance) FROM ${dataSource}`, resultFormat: 'array' }
    const answer = await router.send({ method: 'POST', path: '/svc/v2/sql', json })
    assert.equal((answer.json as number[][])[0]?.[0], rows, answer.text)
  }

  test('a cluster ingests everything while its S3 server is killed', async () => {
    await setReplicas(1)
    const id = await submitTask(router, flightsTask())
    await interrupt(s3, 'some files are stored', () => s3.keys('segments/').length >= 5)
    await untilTaskSucceeds(router, id)
    assert.equal((await stored()).length, days)
    await checkFiles()
    await untilLoaded(router, { timeoutMs })
    await checkRows()
    const log = await router.send({ path: `/svc/indexer/v1/task/${encodeURIComponent(id)}/log` })
    assert.match(log.text, /"message":"Task started"/)
  })

  test('it loads everything', async () => {
    await setReplicas(2)
    await interrupt(s3, 'some segments are loaded', () => loadedFiles() >= days + 3)
    await untilLoaded(router, { timeoutMs })
    assert.equal(loadedFiles(), 2 * days)
  })

  test('it is backed up', async () => {
    const ended = runSvcInBackground('backup', backup, '--home', home.root, '--json')
    await interrupt(s3, 'some files are copied', () => filesBelow(folder, '.parquet') >= 3)
    const { status, stdout, stderr } = await ended
    assert.equal(status, 0, stderr)
    assert.equal((JSON.parse(stdout) as { files: number }).files, days)
  })

  test('it is restored', async () => {
    const restored = path.join(folder, 'restored')
    const set = [...connection, 'svc.storage.baseKey=restored'].flatMap((each) => ['--set', each])
    const ended = runSvcInBackground('restore', backup, '--home', restored, ...set)
    await interrupt(s3, 'some files are stored', () => s3.keys('restored/').length >= 3)
    const { status, stdout, stderr } = await ended
    assert.equal(status, 0, stderr)
    assert.doesNotMatch(stdout, /credential/)
    await checkFiles('restored')
  })

  test('it compacts everything', async () => {
    const id = await submitTask(router, {
      type: 'compact',
      dataSource,
      ioConfig: { type: 'compact', inputSpec: { type: 'interval', interval: '2000-01-01/2030-01-01' } },
      granularitySpec: { segmentGranularity: 'MONTH' },
    })
    await interrupt(s3, 'some files are fetched', () => filesBelow(home.tasks, '.parquet') >= 5)
    await untilTaskSucceeds(router, id)
    await untilLoaded(router, { timeoutMs })
    await checkRows()
    await checkFiles()
  })

  test('it deletes what is unused', async () => {
    await waitUntil('the old segments are unused', async () => (await stored(false)).length === days)
    const before = s3.keys('segments/').length
    const id = await submitTask(router, { type: 'kill', dataSource, interval: '2000-01-01/2030-01-01' })
    await interrupt(s3, 'some files are gone', () => s3.keys('segments/').length < before - 3)
    await untilTaskSucceeds(router, id)
    assert.deepEqual(await stored(false), [])
    await checkFiles()
    await checkRows()
  })
}
