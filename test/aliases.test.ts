// Aliases offer the unchanged interface with another prefix, at the servers and through the router.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { HttpClient } from '@svc/shared/testing'
import { runTask } from './support/flights.ts'
import { inlineTask } from './support/inline-task.ts'
import { startTestCluster, type TestCluster } from './support/test-cluster.ts'
import { untilLoaded } from './support/until-loaded.ts'

describe('with svc.api.aliases=["druid"]', () => {
  let cluster: TestCluster
  let coordinator: HttpClient
  before(async () => {
    cluster = await startTestCluster({ profile: 'secure', set: ['svc.api.aliases=["druid"]'] })
    coordinator = cluster.at('coordinator')
  })
  after(() => cluster.end())

  test('sets rules, and returns them and their history', async () => {
    const rules = [
      { type: 'loadForever', tieredReplicants: { _default_tier: 1 }, useDefaultTierForNull: true },
    ]
    await cluster.router.post('/druid/coordinator/v1/rules/wiki', rules, {
      'X-Druid-Author': 'koala',
      'X-Druid-Comment': 'why not',
    })
    for (const client of [cluster.router, coordinator]) {
      assert.deepEqual(await client.get('/druid/coordinator/v1/rules/wiki'), rules)
      assert.deepEqual(await client.get('/svc/coordinator/v1/rules/wiki'), rules)
    }
    const [entry] = await cluster.router.get<{ auditInfo: object }[]>(
      '/druid/coordinator/v1/rules/wiki/history?count=1',
    )
    assert.deepEqual(entry?.auditInfo, {
      author: 'koala',
      comment: 'why not',
      identity: 'admin',
      ip: '127.0.0.1',
    })
  })

  test('returns stored values unchanged', async () => {
    const stored = { dataSource: 'wiki', taskContext: { service: 'svc/x', error: 'svcException' } }
    await cluster.router.post('/druid/coordinator/v1/config/compaction', stored)
    const path = 'coordinator/v1/config/compaction/wiki'
    const answer = await cluster.router.get<{ taskContext: object }>(`/druid/${path}`)
    assert.deepEqual(answer.taskContext, stored.taskContext)
    assert.deepEqual(answer, await cluster.router.get(`/svc/${path}`))
  })

  test('shows services with that prefix', async () => {
    const path = 'coordinator/v1/cluster'
    for (const word of ['druid', 'svc']) {
      const { broker } = await cluster.router.get<{ broker: { service: string }[] }>(`/${word}/${path}`)
      assert.deepEqual(
        broker.map(({ service }) => service),
        [`${word}/broker`],
      )
    }
  })

  test('uses the prefix of the request in errors', async () => {
    const path = 'coordinator/v1/rules/history?count=none'
    for (const client of [cluster.router, coordinator]) {
      const requested = await client.send({ path: `/druid/${path}` })
      assert.equal(requested.status, 400)
      assert.equal((requested.json as { error: string }).error, 'druidException')
      const plain = await client.send({ path: `/svc/${path}` })
      assert.equal((plain.json as { error: string }).error, 'svcException')
    }
  })

  test('uses that prefix in the login realm', async () => {
    for (const client of [cluster.router, coordinator]) {
      for (const word of ['druid', 'svc']) {
        const path = `/${word}/coordinator/v1/rules`
        const { status, headers } = await client.send({ path, credentials: null })
        assert.equal(status, 401)
        assert.equal(headers['www-authenticate'], `Basic realm="${word}", charset="UTF-8"`)
      }
    }
  })

  test('uses that prefix in response headers', async () => {
    for (const [word, other] of [
      ['druid', 'svc'],
      ['svc', 'druid'],
    ] as const) {
      const { status, headers } = await cluster.router.send({
        method: 'POST',
        path: `/${word}/v2/sql`,
        json: { query: 'SELECT 1', context: { sqlQueryId: 'mine' } },
      })
      assert.equal(status, 200)
      assert.deepEqual(
        [headers[`x-${word}-sql-query-id`], headers[`x-${other}-sql-query-id`]],
        ['mine', undefined],
      )
    }
  })

  test('shows datasources in SQL in the schema of the requested prefix', async () => {
    const request = async (word: string, query: string) =>
      (await cluster.router.post(`/${word}/v2/sql`, { query, resultFormat: 'array' })).json
    await runTask(cluster.router, inlineTask('wiki'))
    await untilLoaded(cluster.router)
    for (const [word, other] of [
      ['druid', 'svc'],
      ['svc', 'druid'],
    ] as const) {
      assert.deepEqual(await request(word, `SELECT count(*) > 0 FROM ${word}.wiki`), [[true]])
      const tables = `SELECT TABLE_CATALOG, TABLE_SCHEMA FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'wiki'`
      assert.deepEqual(await request(word, tables), [[word, word]])
      const schemata = 'SELECT SCHEMA_NAME FROM INFORMATION_SCHEMA.SCHEMATA'
      assert.deepEqual(await request(word, schemata), [[word], ['INFORMATION_SCHEMA'], ['sys']])
      await assert.rejects(request(word, `SELECT * FROM ${other}.wiki`), /does not exist/)
    }
  })

  test('also works through the router, and internal paths stay closed', async () => {
    assert.equal(
      (await cluster.router.send({ path: '/proxy/coordinator/druid/coordinator/v1/leader' })).status,
      200,
    )
    for (const path of [
      '/druid-internal/v1/segments',
      '/proxy/coordinator/druid-internal/v1/x',
      '/koala/v2/sql',
    ]) {
      assert.equal((await cluster.router.send({ path })).status, 404, path)
    }
  })
})
