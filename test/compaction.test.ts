// Compaction changes how data is stored, never what queries return. Three appends of the example data become
// monthly segments with rollup while processes are killed at random points, and every answer in between is right
// or an error. SVC_TEST_KILLS is the number of points, and SVC_TEST_SEED decides where they are.

import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { analyzeTimeline } from '@svc/domain/timeline'
import { loadStoredSegments, loadTaskLocks, sql } from '@svc/shared/postgres'
import { waitUntil } from '@svc/shared/testing'
import { flights, flightsTask, runTask } from './support/flights.ts'
import { parentOf, processesNaming } from './support/processes-of-home.ts'
import { seededRandom } from './support/random.ts'
import { cachedSegments, storedSegments } from './support/segments.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { untilLoaded } from './support/until-loaded.ts'

const cluster = await startTestCluster({
  profile: 'secure',
  historicals: '_default_tier=2',
  instances: 'worker=1',
  set: ['coordinator.svc.coordinator.period=PT0.5S', 'overlord.svc.compaction.period=PT0.5S'],
})
after(() => cluster.end())
const { router, store, home } = cluster
const random = seededRandom()
const { dataSource } = flights
const appends = 3
const points = Number(process.env.SVC_TEST_KILLS ?? 4)
const timeoutMs = 90_000
const historicals = ['historical-1', 'historical-2']
// Servers, and the process of a task.
const kinds = ['overlord', 'peon', 'historical-1', 'worker', 'historical-2']

interface Status {
  readonly bytesAwaitingCompaction: number
  readonly bytesCompacted: number
  readonly bytesSkipped: number
  readonly segmentCountAwaitingCompaction: number
  readonly segmentCountCompacted: number
  readonly segmentCountSkipped: number
  readonly intervalCountCompacted: number
}
const statusPath = `/svc/indexer/v1/compaction/status/datasources/${dataSource}`
const status = async (): Promise<Status | undefined> => {
  const { status: code, json } = await router.send({ path: statusPath })
  return code === 200 ? (json as { latestStatus: Status[] }).latestStatus[0] : undefined
}

const query = 'SELECT sum(distance), count(DISTINCT origin), min(__time), max(__time) FROM flights'
const request = () =>
  router.send({ method: 'POST', path: '/svc/v2/sql', json: { query, resultFormat: 'array' } })

async function setCompaction(more: object): Promise<void> {
  const json = {
    dataSource,
    skipOffsetFromLatest: 'PT0S',
    metricsSpec: [{ type: 'longSum', name: 'distance', fieldName: 'distance' }],
    ...more,
  }
  await waitUntil(
    'the configuration is in effect',
    () =>
      router.send({
        method: 'POST',
        path: `/svc/indexer/v1/compaction/config/datasources/${dataSource}`,
        json,
      }),
    ({ status: code }) => code === 200,
    { timeoutMs: 60_000 },
  )
}

const usedSegments = async () => (await storedSegments(store, dataSource)).filter(({ used }) => used)

/** Counts the visible segments, bytes and rows of the datasource in the metadata store. */
async function visibleFigures() {
  const stored = await loadStoredSegments(store, { dataSource, used: true })
  const visible = new Set(analyzeTimeline(stored).visible.flatMap(({ segments }) => segments))
  const segments = stored.filter((_, index) => visible.has(index))
  return { ids: segments.map(({ id }) => id).join(), segments: segments.length, bytes: bytesOf(segments) }
}

/** Compares a status with the metadata store. Returns false if the metadata store changed in the meantime. */
async function checkStatus(): Promise<boolean> {
  const before = await visibleFigures()
  const state = await status().catch(() => undefined)
  const { ids, segments, bytes } = await visibleFigures()
  if (state === undefined || before.ids !== ids) return false
  assert.equal(
    state.segmentCountAwaitingCompaction + state.segmentCountCompacted + state.segmentCountSkipped,
    segments,
    'the status has another number of segments than the metadata store',
  )
  assert.equal(
    state.bytesAwaitingCompaction + state.bytesCompacted + state.bytesSkipped,
    bytes,
    'the status has another number of bytes than the metadata store',
  )
  return true
}

/** Checks that no interval has two running tasks. */
async function checkLocks(): Promise<void> {
  const locks = await loadTaskLocks(store)
  for (const [index, { interval }] of locks.entries()) {
    for (const other of locks.slice(index + 1)) {
      assert.ok(
        interval.end <= other.interval.start || interval.start >= other.interval.end,
        'an interval has two running tasks',
      )
    }
  }
}
const bytesOf = (segments: readonly { readonly sizeBytes: number }[]) =>
  segments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
const cached = () => historicals.flatMap((instance) => cachedSegments(cluster, instance))

/** The current time of the metadata store. */
async function storeTime(): Promise<string> {
  const [row] = await store.query<{ now: string }>(sql`SELECT clock_timestamp()::text AS now`)
  return (row as { now: string }).now
}

/** Waits until a compact task was started after a time, whether or not it is still running. */
async function untilStarted(since: string): Promise<void> {
  await waitUntil(
    'a compact task was started',
    () =>
      store.query<{ started: boolean }>(sql`
        SELECT id, state, attempt, error_message, started_at >= ${since}::timestamptz AS started
        FROM tasks WHERE type = 'compact' ORDER BY created_at DESC LIMIT 5`),
    (tasks) => tasks.some(({ started }) => started),
    { timeoutMs: timeoutMs, pollMs: 5 },
  )
}

/** Kills the process of a running task once there is one. */
async function killPeon(): Promise<void> {
  await waitUntil(
    'a task has a process',
    () => {
      const servers = processesNaming(home.root)
        .filter((line) => /\/(overlord|worker)\.mjs/.test(line))
        .map(pidOf)
      const peon = processesNaming('/peon.mjs')
        .map(pidOf)
        .find((pid) => servers.includes(parentOf(pid) ?? 0))
      if (peon !== undefined) process.kill(peon, 'SIGKILL')
      return peon !== undefined
    },
    Boolean,
    { timeoutMs: timeoutMs, pollMs: 5 },
  )
}

const pidOf = (line: string): number => Number(line.split(' ')[0])

test('three appends become months with rollup while processes are killed', {
  timeout: 550_000,
}, async (context) => {
  context.diagnostic(`SVC_TEST_SEED=${random.seed}`)
  await router.post('/svc/indexer/v1/compaction/config/cluster', {
    useSupervisors: true,
    compactionTaskSlotRatio: 1,
  })
  const once = flightsTask() as { spec: { ioConfig: object } }
  const task = {
    ...once,
    spec: { ...once.spec, ioConfig: { ...once.spec.ioConfig, appendToExisting: true } },
  }
  for (let append = 0; append < appends; append++) await runTask(router, task)
  const fragments = await usedSegments()
  assert.equal(fragments.length, appends * flights.days)
  await untilLoaded(router, { timeoutMs: timeoutMs })
  const right = (await request()).text
  const [[sum]] = JSON.parse(right) as [[number]]
  assert.equal(Number(sum), appends * 14_476_934)
  const before = { stored: bytesOf(fragments), cached: bytesOf(cached()) }

  let answers = 0
  let refused = 0
  let statuses = 0
  let isOver = false
  const sampling = (async () => {
    while (!isOver) {
      const answer = await request()
      if (answer.status === 200) {
        assert.equal(answer.text, right, 'an answer is wrong or partial')
        answers += 1
      } else {
        assert.ok([502, 503, 504].includes(answer.status), `${answer.status} ${answer.text}`)
        refused += 1
      }
      await checkLocks()
      if (await checkStatus()) statuses += 1
      await delay(100)
    }
  })()
  sampling.catch(() => undefined)

  const victims: string[] = []
  try {
    for (let point = 0; point < points; point++) {
      const since = await storeTime()
      const segmentGranularity = point % 2 === 0 ? 'MONTH' : 'QUARTER'
      await setCompaction({
        granularitySpec: { segmentGranularity, rollup: point > points / 2 },
        // One kill per point: with more, the retry of a killed task would have nothing left to undo.
        tuningConfig: { partitionsSpec: { type: 'dynamic', maxRowsPerSegment: 5_000_000 + point } },
        taskPriority: 20 + point,
      })
      const victim = kinds[point % kinds.length] as string
      victims.push(victim)
      if (victim === 'peon') {
        await killPeon()
        continue
      }
      await untilStarted(since)
      await delay(random.next() * 1500)
      await cluster.kill(victim, 'SIGKILL')
      await cluster.waitUntilReady(victim, 60_000)
    }
    context.diagnostic(`killed: ${victims.join(', ')}`)
    await setCompaction({ granularitySpec: { segmentGranularity: 'MONTH', rollup: true } })
    await waitUntil(
      'everything is compacted',
      status,
      (found) => found?.bytesAwaitingCompaction === 0 && found.segmentCountCompacted === 3,
      { timeoutMs: timeoutMs },
    )
    const months = await waitUntil(
      'overshadowed segments are unused',
      usedSegments,
      (used) => used.length === 3,
      {
        timeoutMs: timeoutMs,
      },
    )
    await untilLoaded(router, { timeoutMs: timeoutMs })
    await waitUntil(
      'the historicals have dropped overshadowed segments',
      cached,
      (copies) => copies.length === 6,
      {
        timeoutMs: timeoutMs,
      },
    )
    assert.equal((await request()).text, right)
    assert.ok(
      months.reduce((rows, { totalRows }) => rows + totalRows, 0) <= flights.rows,
      'rows were not rolled up',
    )
    assert.ok(bytesOf(months) < before.stored, 'compaction did not reduce the stored bytes')
    assert.ok(bytesOf(cached()) < before.cached, 'compaction did not reduce the loaded bytes')
    const found = (await status()) as Status
    assert.equal(found.bytesCompacted, bytesOf(months), 'the status differs from the metadata store')
    assert.equal(found.intervalCountCompacted, 3)
    // Queries read loaded segments, never deep storage.
    renameSync(home.deepStorage, `${home.deepStorage}.away`)
    try {
      const answer = await request()
      assert.deepEqual([answer.status, answer.text], [200, right])
    } finally {
      renameSync(`${home.deepStorage}.away`, home.deepStorage)
    }
  } finally {
    isOver = true
  }
  await sampling
  context.diagnostic(
    `${answers} correct answers, ${refused} refused, none wrong; ${statuses} correct statuses`,
  )
  assert.ok(answers > 0 && statuses > 0)
})
