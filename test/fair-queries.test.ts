// Callers share a broker fairly: whatever a greedy caller sends, short queries of others are answered soon.
// SVC_TEST_QUERIES is the number of short queries: 100 for figures.

import assert from 'node:assert/strict'
import { after, describe, type TestContext, test } from 'node:test'
import { type Answer, waitUntil } from '@svc/shared/testing'
import { flights, flightsTask, runTask } from './support/flights.ts'
import { querySql, sqlRows } from './support/sql.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { addUsers, credentialsOf } from './support/test-users.ts'
import { untilLoaded } from './support/until-loaded.ts'

const cluster = await startTestCluster({
  profile: 'secure',
  historicals: '_default_tier=2',
  set: ['coordinator.svc.coordinator.period=PT0.5S'],
})
after(() => cluster.end())
const { router } = cluster
const read = { resource: { type: 'DATASOURCE', name: 'flights' }, action: 'READ' } as const
await addUsers(cluster, { greedy: [read], greedier: [read], healthy: [read], nothing: [] })
await runTask(router, flightsTask({ segmentGranularity: 'MONTH' }))
await untilLoaded(router)

// These run for hours: one only computes, and the other one starts to answer immediately.
const heavy = [
  `SELECT count(*) FROM flights a, flights b, flights c, flights d
    WHERE a.distance + b.distance + c.distance + d.distance = 1`,
  'SELECT a.origin, b.origin FROM flights a, flights b, flights c WHERE a.distance + b.distance + c.distance = 1',
] as const
const short = `SELECT origin, count(*) FROM flights WHERE __time >= TIMESTAMP '2001-02-01' GROUP BY 1 ORDER BY 2 DESC LIMIT 5`
const sqlQueryId = 'heavy'

/** Sends heavy queries all at once; `end` cancels them and returns their answers. */
async function beGreedy(queries: Readonly<Record<string, number>>) {
  const sent = Object.entries(queries).flatMap(([user, count]) =>
    Array.from({ length: count }, (_, index) =>
      querySql(router, heavy[index % heavy.length] as string, {
        credentials: credentialsOf(user),
        context: { sqlQueryId },
      }).catch(() => undefined),
    ),
  )
  const metrics = async (): Promise<string> => (await cluster.at('broker').send({ path: '/metrics' })).text
  // One caller runs two queries ([svc.query.memoryLimitPerCaller]); two callers use every process but one.
  const running = Object.keys(queries).length === 1 ? '2' : '[34]'
  await waitUntil(
    'the callers run as many long queries as they may',
    metrics,
    (text) => new RegExp(`svc_queries\\{lane="long",state="running"\\} ${running}`).test(text),
    { timeoutMs: 60_000 },
  )
  return {
    end: async (): Promise<(Answer | undefined)[]> => {
      let hasEnded = false
      const answers = Promise.all(sent).finally(() => {
        hasEnded = true
      })
      await waitUntil(
        'all are canceled',
        async () => {
          for (const user of Object.keys(queries))
            await router.send({
              method: 'DELETE',
              path: `/svc/v2/sql/${sqlQueryId}`,
              credentials: credentialsOf(user),
            })
          return hasEnded
        },
        Boolean,
        { timeoutMs: 60_000 },
      )
      return answers
    },
  }
}

const atOnce = 4
const queriesEach = Number(process.env.SVC_TEST_QUERIES ?? 40) / atOnce

/** Runs short queries of the healthy user, and returns their times in milliseconds, sorted; all must be answered. */
async function healthyQueries(): Promise<number[]> {
  const tookMs: number[] = []
  const work = async (): Promise<void> => {
    for (let count = 0; count < queriesEach; count += 1) {
      const start = performance.now()
      const { status, text } = await querySql(router, short, { credentials: credentialsOf('healthy') })
      assert.equal(status, 200, text)
      tookMs.push(performance.now() - start)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return tookMs.sort((a, b) => a - b)
}

function report(scope: TestContext, tookMs: readonly number[]): void {
  const quantile = (share: number): number => tookMs[Math.ceil(share * tookMs.length) - 1]!
  const [median, p90, p99] = [quantile(0.5), quantile(0.9), quantile(0.99)]
  scope.diagnostic(
    `healthy user: median ${median.toFixed(0)} ms, p90 ${p90.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`,
  )
  // Generous: other work may run on the machine.
  assert.ok(p99 < 25_000, `p99 ${p99} ms`)
}

describe('short queries of a healthy user', () => {
  test('are answered while nobody else sends queries', async (scope) => {
    await healthyQueries()
    report(scope, await healthyQueries())
  })

  test('are all answered while one caller sends 100 heavy queries', async (scope) => {
    const greedy = await beGreedy({ greedy: 100 })
    report(scope, await healthyQueries())
    const answers = await greedy.end()
    const refused = answers.filter((answer) => answer?.status === 429)
    assert.equal(
      refused.length,
      100 - 2 - 50,
      'the number of queries beyond the processes and the queue of one caller',
    )
    for (const answer of refused) {
      assert.equal(answer?.headers['retry-after'], '1')
      assert.match(String(answer?.text), /\[svc\.query\.maxQueuedPerCaller\]/)
    }
  })

  test('are all answered while two callers send 60 heavy queries each', async (scope) => {
    const greedy = await beGreedy({ greedy: 60, greedier: 60 })
    report(scope, await healthyQueries())
    await greedy.end()
  })

  test('alternate with long ones, which are answered too', async () => {
    const greedy = await beGreedy({ greedy: 10, greedier: 10 })
    // About half a second of work: more than a short query takes.
    const query = 'SELECT count(*) FROM range(8000) a, range(8000) b WHERE a.range + b.range = 7'
    assert.deepEqual(await sqlRows(router, query, { credentials: credentialsOf('healthy') }), [[8]])
    await greedy.end()
  })
})

describe('a caller who can read no datasource', () => {
  const request = (query: string) => querySql(router, query, { credentials: credentialsOf('nothing') })
  test('runs short queries without tables', async () => {
    // Next to other tests, the first query in a new process may take longer than its second.
    await waitUntil(
      'success',
      () => request('SELECT 1'),
      ({ status }) => status === 200,
    )
    assert.equal((await request(`SELECT count(*) FROM ${flights.dataSource}`)).status, 403)
  })
  test('cannot run queries for longer than a second', async () => {
    const { status, text } = await request('SELECT count(*) FROM range(1000000000) a, range(1000000000) b')
    assert.equal(status, 504)
    assert.match(text, /longer than \[1000\] ms, the limit for callers without read access to any datasource/)
  })
})
