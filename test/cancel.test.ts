// Queries are cancelled by their id at the router, whichever of the brokers runs them, by whom the datasources allow.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { flights, flightsTask, runTask } from './support/flights.ts'
import type { Answer } from './support/http-client.ts'
import { askSql } from './support/sql.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { addUsers, credentialsOf } from './support/test-users.ts'
import { untilLoaded } from './support/until-loaded.ts'
import { waitUntil } from './support/wait-until.ts'

const cluster = await startTestCluster({
  profile: 'secure',
  instances: 'broker=2',
  historicals: '_default_tier=2',
  set: [
    'coordinator.svc.coordinator.period=PT0.5S',
    'broker.svc.query.maxConcurrent=1',
    'svc.api.aliases=["druid"]',
  ],
})
after(() => cluster.end())
const { router } = cluster
const read = (name: string) => ({
  resource: { type: 'DATASOURCE' as const, name },
  action: 'READ' as const,
})
await addUsers(cluster, { reader: [read('flights')], other: [read('koala')] })
await runTask(router, flightsTask({ segmentGranularity: 'MONTH' }))
await untilLoaded(router)

// It would run for hours.
const endless = `SELECT count(*) FROM flights a, flights b, flights c, flights d
  WHERE a.distance + b.distance + c.distance + d.distance = 1`
const cancel = (path: string, credentials?: string): Promise<Answer> =>
  router.send({ method: 'DELETE', path, ...(credentials === undefined ? {} : { credentials }) })

/** Waits until somebody who may read everything but the query's datasource is told so: the query is read then. */
const untilRead = (path: string, at = router) =>
  waitUntil(
    'the query has been read',
    () => at.send({ method: 'DELETE', path, credentials: credentialsOf('other') }),
    ({ status }) => status === 403,
  )

describe('a query in SQL', () => {
  test('is cancelled in every broker that runs it, by whom may read what it reads', async () => {
    const id = 'of/two brokers'
    const path = `/svc/v2/sql/${encodeURIComponent(id)}`
    const context = { sqlQueryId: id }
    const asked = ['broker', 'broker-2'].map((broker) => askSql(cluster.at(broker), endless, { context }))
    for (const broker of ['broker', 'broker-2']) await untilRead(path, cluster.at(broker))
    const refused = await cancel(path, credentialsOf('other'))
    assert.equal(refused.status, 403)
    assert.match(refused.text, /\[READ\] on all datasources that the query reads is missing/)
    assert.ok(!refused.text.includes('flights'), 'what others ask for is not told')
    const { status, text } = await cancel(path, credentialsOf('reader'))
    assert.deepEqual([status, text], [202, ''])
    for (const answer of await Promise.all(asked)) {
      assert.equal(answer.status, 500)
      assert.deepEqual(answer.json, {
        error: 'svcException',
        errorCode: 'cancelled',
        persona: 'USER',
        category: 'CANCELED',
        errorMessage: `Query [${id}] was canceled`,
        context: {},
      })
    }
    assert.equal((await cancel(path)).status, 404)
  })

  test('is cancelled by an alias, with the word of it', async () => {
    const asked = router.send({
      method: 'POST',
      path: '/druid/v2/sql',
      json: { query: endless, context: { sqlQueryId: 'by-alias' } },
    })
    await untilRead('/druid/v2/sql/by-alias')
    assert.equal((await cancel('/druid/v2/sql/by-alias')).status, 202)
    const { status, json } = await asked
    assert.equal(status, 500)
    assert.equal((json as { error: string }).error, 'druidException')
  })

  test('whose answer has begun breaks off', async () => {
    const rows = 'SELECT a.origin, b.origin FROM flights a, flights b'
    const asked = askSql(router, rows, { context: { sqlQueryId: 'begun' }, resultFormat: 'csv' })
    asked.catch(() => undefined)
    await untilRead('/svc/v2/sql/begun')
    assert.equal((await cancel('/svc/v2/sql/begun')).status, 202)
    // It may be that its first rows were not on their way yet.
    const answer = await asked.catch(() => undefined)
    assert.ok(answer === undefined || answer.status === 500)
  })

  test('that nobody knows is none', async () => {
    const { status, text } = await cancel('/svc/v2/sql/never')
    assert.equal(status, 404)
    assert.match(text, /SQL query \[never\] is not running/)
    assert.equal((await cancel('/svc/v2/sql/never', credentialsOf('other'))).status, 404)
    assert.equal(
      (await router.send({ method: 'DELETE', path: '/svc/v2/sql/x', credentials: null })).status,
      401,
    )
  })
})

describe('a native query', () => {
  test('is cancelled while it waits, and what nobody knows is taken for cancelled', async () => {
    const broker = cluster.at('broker')
    const before = askSql(broker, endless, { context: { sqlQueryId: 'before' } })
    await untilRead('/svc/v2/sql/before')
    const asked = broker.send({
      method: 'POST',
      path: '/svc/v2',
      json: { queryType: 'timeBoundary', dataSource: flights.dataSource, context: { queryId: 'native' } },
    })
    await untilRead('/svc/v2/native', broker)
    assert.equal((await cancel('/svc/v2/sql/native')).status, 404)
    const { status, text } = await cancel('/svc/v2/native', credentialsOf('reader'))
    assert.deepEqual([status, text], [202, ''])
    const answer = await asked
    assert.equal(answer.status, 500)
    assert.equal((answer.json as { errorCode: string }).errorCode, 'cancelled')
    assert.equal((await cancel('/svc/v2/native', credentialsOf('other'))).status, 202)
    assert.equal((await cancel('/svc/v2/sql/before')).status, 202)
    assert.equal((await before).status, 500)
  })
})
