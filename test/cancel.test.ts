// Users with permission on its datasources can cancel a query by its id at the router, whichever broker runs it.

import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { type Answer, waitUntil } from '@svc/shared/testing'
import { flights, flightsTask, runTask } from './support/flights.ts'
import { querySql } from './support/sql.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { addUsers, credentialsOf } from './support/test-users.ts'
import { untilLoaded } from './support/until-loaded.ts'

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

// Would run for hours.
const endless = `SELECT count(*) FROM flights a, flights b, flights c, flights d
  WHERE a.distance + b.distance + c.distance + d.distance = 1`
const cancel = (path: string, credentials?: string): Promise<Answer> =>
  router.send({ method: 'DELETE', path, ...(credentials === undefined ? {} : { credentials }) })

/**
 * Waits until a user who can read everything except the query's datasource is refused. By then the broker has
 * read the query.
 */
const untilRead = (path: string, at = router) =>
  waitUntil(
    'the broker has read the query',
    () => at.send({ method: 'DELETE', path, credentials: credentialsOf('other') }),
    ({ status }) => status === 403,
  )

describe('a query in SQL', () => {
  test('is canceled in every broker that runs it, by a user who can read its datasources', async () => {
    const id = 'of/two brokers'
    const path = `/svc/v2/sql/${encodeURIComponent(id)}`
    const context = { sqlQueryId: id }
    const querying = ['broker', 'broker-2'].map((broker) =>
      querySql(cluster.at(broker), endless, { context }),
    )
    for (const broker of ['broker', 'broker-2']) await untilRead(path, cluster.at(broker))
    const refused = await cancel(path, credentialsOf('other'))
    assert.equal(refused.status, 403)
    assert.match(refused.text, /requires permission \[READ\] on every datasource that it reads/)
    assert.ok(!refused.text.includes('flights'), 'the answer reveals what other users query')
    const { status, text } = await cancel(path, credentialsOf('reader'))
    assert.deepEqual([status, text], [202, ''])
    for (const answer of await Promise.all(querying)) {
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

  test('is canceled through an alias, with the prefix of the alias', async () => {
    const querying = router.send({
      method: 'POST',
      path: '/druid/v2/sql',
      json: { query: endless, context: { sqlQueryId: 'by-alias' } },
    })
    await untilRead('/druid/v2/sql/by-alias')
    assert.equal((await cancel('/druid/v2/sql/by-alias')).status, 202)
    const { status, json } = await querying
    assert.equal(status, 500)
    assert.equal((json as { error: string }).error, 'druidException')
  })

  test('stops in the middle of its answer', async () => {
    const rows = 'SELECT a.origin, b.origin FROM flights a, flights b'
    const querying = querySql(router, rows, { context: { sqlQueryId: 'begun' }, resultFormat: 'csv' })
    querying.catch(() => undefined)
    await untilRead('/svc/v2/sql/begun')
    assert.equal((await cancel('/svc/v2/sql/begun')).status, 202)
    // Its first rows may not have been sent yet.
    const answer = await querying.catch(() => undefined)
    assert.ok(answer === undefined || answer.status === 500)
  })

  test('is reported as not running if its id is unknown', async () => {
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
  test('is canceled while it waits, and an unknown id counts as canceled', async () => {
    const broker = cluster.at('broker')
    const before = querySql(broker, endless, { context: { sqlQueryId: 'before' } })
    await untilRead('/svc/v2/sql/before')
    const querying = broker.send({
      method: 'POST',
      path: '/svc/v2',
      json: { queryType: 'timeBoundary', dataSource: flights.dataSource, context: { queryId: 'native' } },
    })
    await untilRead('/svc/v2/native', broker)
    assert.equal((await cancel('/svc/v2/sql/native')).status, 404)
    const { status, text } = await cancel('/svc/v2/native', credentialsOf('reader'))
    assert.deepEqual([status, text], [202, ''])
    const answer = await querying
    assert.equal(answer.status, 500)
    assert.equal((answer.json as { errorCode: string }).errorCode, 'cancelled')
    assert.equal((await cancel('/svc/v2/native', credentialsOf('other'))).status, 202)
    assert.equal((await cancel('/svc/v2/sql/before')).status, 202)
    assert.equal((await before).status, 500)
  })
})
