// Proves that the interface is offered unchanged under another word, at its servers and through the router.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createHttpClient, type HttpClient } from './support/http-client.ts'
import { startTestCluster, type TestCluster } from './support/test-cluster.ts'

describe('with svc.api.aliases=["druid"]', () => {
  let cluster: TestCluster
  let coordinator: HttpClient
  before(async () => {
    cluster = await startTestCluster({ profile: 'plain', set: ['svc.api.aliases=["druid"]'] })
    coordinator = createHttpClient(cluster.urls.coordinator!)
  })
  after(async () => {
    await coordinator.close()
    await cluster.end()
  })

  test('rules are set, read and told in their history', async () => {
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
      identity: 'allowAll',
      ip: '127.0.0.1',
    })
  })

  test('errors are told with the word by which was asked', async () => {
    const path = 'coordinator/v1/rules/history?count=none'
    for (const client of [cluster.router, coordinator]) {
      const asked = await client.send({ path: `/druid/${path}` })
      assert.equal(asked.status, 400)
      assert.equal((asked.json as { error: string }).error, 'druidException')
      const plain = await client.send({ path: `/svc/${path}` })
      assert.equal((plain.json as { error: string }).error, 'svcException')
    }
  })

  test('headers of answers have that word too', async () => {
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

  test('the proxy of the router knows it too, and internal paths stay closed', async () => {
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
