// Proves that compaction changes how data lies and never what it says: three appends of the shipped data set become
// months with rollup while processes are killed at random points, and every answer in between is right or refused.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { loadTaskLocks, sql } from '@svc/shared/postgres'
import { flights, flightsTask, runTask } from './support/flights.ts'
import { processesNaming } from './support/processes-of-home.ts'
import { seededRandom } from './support/random.ts'
import { cachedSegments, storedSegments } from './support/segments.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { waitUntil } from './support/wait-until.ts'

const cluster = await startTestCluster({
  profile: 'secure',
  historicals: '_default_tier=2',
  set: ['coordinator.svc.coordinator.period=PT0.5S', 'overlord.svc.compaction.period=PT0.5S'],
})
after(() => cluster.end())
const { router, store, home } = cluster
const random = seededRandom()
const { dataSource } = flights
const appends = 3
const points = 10
const patienceMs = 150_000
const historicals = ['historical-1', 'historical-2']

interface Status {
  readonly bytesAwaitingCompaction: number
  readonly bytesCompacted: number
  readonly segmentCountCompacted: number
  readonly segmentCountAwaitingCompaction: number
  readonly intervalCountCompacted: number
}
const statusPath = `/svc/indexer/v1/compaction/status/datasources/${dataSource}`
const status = async (): Promise<Status | undefined> => {
  const { status: code, json } = await router.send({ path: statusPath })
  return code === 200 ? (json as { latestStatus: Status[] }).latestStatus[0] : undefined
}

const query = 'SELECT sum(distance), count(DISTINCT origin), min(__time), max(__time) FROM flights'
const ask = () => router.send({ method: 'POST', path: '/svc/v2/sql', json: { query, resultFormat: 'array' } })

async function setCompaction(more: object): Promise<void> {
  const json = {
    dataSource,
    skipOffsetFromLatest: 'PT0S',
    metricsSpec: [{ type: 'longSum', name: 'distance', fieldName: 'distance' }],
    ...more,
  }
  await waitUntil(
    'the configuration is taken',
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
const bytesOf = (segments: readonly { readonly sizeBytes: number }[]) =>
  segments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
const cached = () => historicals.flatMap((instance) => cachedSegments(cluster, instance))

async function runningCompactions(): Promise<number> {
  const [row] = await store.query<{ n: number }>(
    sql`SELECT count(*) AS n FROM tasks WHERE type = 'compact' AND state = 'RUNNING'`,
  )
  return row?.n ?? 0
}

async function untilLoaded(): Promise<void> {
  await waitUntil(
    'no copy is missing',
    () => router.get<Record<string, Record<string, number>>>('/svc/coordinator/v1/loadstatus?full'),
    (byTier) => {
      const missing = Object.values(byTier).flatMap((tier) => Object.values(tier))
      return missing.length > 0 && missing.every((count) => count === 0)
    },
    { timeoutMs: patienceMs },
  )
}

/** The process that started a process; undefined where it has ended meanwhile. */
function parentOf(pid: number): number | undefined {
  try {
    // The second field, the name, may hold anything but ends with the last bracket.
    const [, rest = ''] = /\) (.*)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    return Number(rest.split(' ')[1])
  } catch {
    return undefined
  }
}

/** Kills a process of a task that is at work, once there is one. */
async function killPeon(): Promise<void> {
  await waitUntil(
    'a task has a process',
    () => {
      const servers = processesNaming(home.root)
        .filter((line) => line.includes('services/overlord/'))
        .map(pidOf)
      const peon = processesNaming('overlord/src/tasks/peon.ts')
        .map(pidOf)
        .find((pid) => servers.includes(parentOf(pid) ?? 0))
      if (peon !== undefined) process.kill(peon, 'SIGKILL')
      return peon !== undefined
    },
    Boolean,
    { timeoutMs: patienceMs, pollMs: 5 },
  )
}

const pidOf = (line: string): number => Number(line.split(' ')[0])

test('three appends become months with rollup, whatever dies meanwhile', {
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
  await untilLoaded()
  const right = (await ask()).text
  const [[sum]] = JSON.parse(right) as [[number]]
  assert.equal(Number(sum), appends * 14_476_934)
  const before = { stored: bytesOf(fragments), cached: bytesOf(cached()) }

  let answers = 0
  let refused = 0
  let isOver = false
  const sampling = (async () => {
    while (!isOver) {
      const answer = await ask()
      if (answer.status === 200) {
        assert.equal(answer.text, right, 'an answer is never wrong or partial')
        answers += 1
      } else {
        assert.ok([502, 503, 504].includes(answer.status), `${answer.status} ${answer.text}`)
        refused += 1
      }
      const locks = await loadTaskLocks(store)
      for (const [index, { interval }] of locks.entries()) {
        for (const other of locks.slice(index + 1)) {
          assert.ok(
            interval.end <= other.interval.start || interval.start >= other.interval.end,
            'no interval has two running tasks',
          )
        }
      }
      await delay(100)
    }
  })()
  sampling.catch(() => undefined)

  const victims: string[] = []
  try {
    for (let point = 0; point < points; point++) {
      const segmentGranularity = point % 2 === 0 ? 'MONTH' : 'WEEK'
      await setCompaction({
        granularitySpec: { segmentGranularity, rollup: point > 5 },
        taskPriority: 20 + point,
      })
      const victim = ['overlord', 'peon', historicals[point % 2] as string][point % 3] as string
      victims.push(victim)
      if (victim === 'peon') {
        await killPeon()
        continue
      }
      await waitUntil('compaction is at work', runningCompactions, (count) => count > 0, {
        timeoutMs: patienceMs,
        pollMs: 5,
      })
      await delay(random.next() * 1500)
      await cluster.kill(victim, 'SIGKILL')
      await cluster.waitUntilReady(victim, 60_000)
    }
    context.diagnostic(`killed: ${victims.join(', ')}`)
    await setCompaction({ granularitySpec: { segmentGranularity: 'MONTH', rollup: true } })
    await waitUntil(
      'all is compacted',
      status,
      (found) => found?.bytesAwaitingCompaction === 0 && found.segmentCountCompacted === 3,
      { timeoutMs: patienceMs },
    )
    const months = await waitUntil('what is hidden is unused', usedSegments, (used) => used.length === 3, {
      timeoutMs: patienceMs,
    })
    await untilLoaded()
    await waitUntil('what is hidden has left the historicals', cached, (copies) => copies.length === 6, {
      timeoutMs: patienceMs,
    })
    assert.equal((await ask()).text, right)
    assert.ok(
      months.reduce((rows, { totalRows }) => rows + totalRows, 0) <= flights.rows,
      'rows were rolled up',
    )
    assert.ok(bytesOf(months) < before.stored, 'fewer bytes are stored')
    assert.ok(bytesOf(cached()) < before.cached, 'fewer bytes are loaded')
    const found = (await status()) as Status
    assert.equal(found.bytesCompacted, bytesOf(months), 'the status agrees with the metadata store')
    assert.equal(found.intervalCountCompacted, 3)
  } finally {
    isOver = true
  }
  await sampling
  context.diagnostic(`${answers} right answers, ${refused} refused, none wrong`)
  assert.ok(answers > 0)
})
