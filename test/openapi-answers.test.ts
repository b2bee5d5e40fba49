// The answers of a cluster with data match the OpenAPI document. Every operation is called, every status,
// content type, and JSON body must be documented, and every request must match the document.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { readStoredDocument } from '@svc/shared/openapi'
import { type Answer, type SentRequest, waitUntil } from '@svc/shared/testing'
import { operationOf, operations, problemOfBody } from './support/check-answer.ts'
import { runTask, untilTaskSucceeds } from './support/flights.ts'
import { inlineTask } from './support/inline-task.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { untilLoaded } from './support/until-loaded.ts'

const cluster = await startTestCluster({
  profile: 'secure',
  instances: 'worker=1',
  set: ['svc.simulation.enabled=true', 'svc.simulation.clock.enabled=true', 'svc.testing.enabled=true'],
})
after(() => cluster.end())
const { router } = cluster

/** The operations that were called, with the statuses that they returned. */
const requested = new Map<string, Set<number>>()

/** Calls a cluster that checks each answer against the document, and records the operation. */
async function requestOnce(method: string, path: string, json?: unknown): Promise<Answer> {
  const operation = operationOf(method, path)
  assert.ok(operation, `The document does not have ${method} ${path}`)
  if (json !== undefined) assert.equal(problemOfBody(operation, json), undefined, `${method} ${path}`)
  const server = operation.operation.tags.includes('historical') ? cluster.at('historical-1') : router
  const request: SentRequest = json === undefined ? { method, path } : { method, path, json }
  const answer = await server.send(request)
  const { operationId } = operation.operation
  requested.set(operationId, (requested.get(operationId) ?? new Set()).add(answer.status))
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
  return answer
}

const dataSource = 'one'
const compacted = {
  dataSource,
  skipOffsetFromLatest: 'PT0S',
  granularitySpec: { segmentGranularity: 'MONTH' },
}
const coordinator = '/svc/coordinator/v1'
const indexer = '/svc/indexer/v1'
const interval = '2026-01-01_2026-01-02'

async function requestAll(paths: readonly string[]): Promise<void> {
  for (const path of paths) await requestOnce('GET', path)
}

/** A path without a query, and with each of some queries. */
const withWords = (path: string, ...words: readonly string[]): string[] => [
  path,
  ...words.map((word) => `${path}?${word}`),
]

test('server information matches the document', async () => {
  await waitUntil(
    'the broker is ready',
    () => router.send({ path: '/svc/broker/v1/readiness' }),
    ({ status }) => status === 200,
  )
  const status = ['', '/health', '/ready', '/selfDiscovered', '/selfDiscovered/status', '/properties']
  for (const way of ['', '/proxy/coordinator', '/proxy/overlord']) {
    await requestAll(status.map((rest) => `${way}/status${rest}`))
    await requestAll([
      `${way}/metrics`,
      `${way}/svc/internal/v1/calls`,
      `${way}/svc/internal/v1/refusedHandshakes`,
      `${way}/svc/internal/v1/refusedRequests`,
      `${way}/svc-ext/basic-security/authentication/loadStatus`,
      `${way}/svc-ext/basic-security/authorization/loadStatus`,
    ])
  }
  await requestAll([
    '/interface',
    '/openapi.json',
    '/svc/router/v1/brokers',
    '/svc/broker/v1/loadstatus',
    '/svc/broker/v1/readiness',
    '/svc/historical/v1/loadstatus',
    '/svc/historical/v1/readiness',
    `${coordinator}/leader`,
    `${coordinator}/isLeader`,
    `${coordinator}/cluster`,
    `${coordinator}/clusterId`,
    `${coordinator}/clusterState`,
    `${indexer}/leader`,
    `${indexer}/isLeader`,
    `${indexer}/duties`,
    `${indexer}/duties/runs`,
    `${coordinator}/duties/runs`,
    `${indexer}/workers`,
    `${indexer}/worker`,
    `${indexer}/worker/history`,
    `${indexer}/totalWorkerCapacity`,
  ])
})

test('the router serves the document, and a page with every endpoint, to authenticated users', async () => {
  const { document } = await readStoredDocument()
  assert.deepEqual(await router.get('/openapi.json'), document)
  const answer = await router.send({ method: 'GET', path: '/interface' })
  assert.equal(answer.status, 200)
  assert.match(answer.headers['content-type'] as string, /^text\/html/)
  for (const template of Object.keys(document.paths))
    assert.ok(answer.text.includes(`<code>${template}</code>`))
  const refused = await router.send({ method: 'GET', path: '/interface', credentials: 'admin:wrong' })
  assert.equal(refused.status, 401)
})

test('tasks, segments, and queries match the document', async () => {
  const once = [{ type: 'loadForever', tieredReplicants: { _default_tier: 1 } }]
  await requestOnce('POST', `${coordinator}/rules/_default`, once)
  const { task } = (await requestOnce('POST', `${indexer}/task`, inlineTask(dataSource))).json as {
    task: string
  }
  await untilTaskSucceeds(router, task)
  await runTask(router, inlineTask('two'))
  await untilLoaded(router)
  const path = `${indexer}/task/${encodeURIComponent(task)}`
  await requestAll([path, `${path}/status`, `${path}/log`, `${path}/explain`])
  for (const name of ['tasks', 'runningTasks', 'pendingTasks', 'waitingTasks', 'completeTasks'])
    await requestOnce('GET', `${indexer}/${name}`)
  await requestOnce('POST', `${indexer}/taskStatus`, [task])
  await requestOnce('POST', `${path}/shutdown`)

  const one = `${coordinator}/datasources/${dataSource}`
  const metadata = `${coordinator}/metadata/datasources`
  const [segment = ''] = (await requestOnce('GET', `${metadata}/${dataSource}/segments`)).json as string[]
  const id = encodeURIComponent(segment)
  await requestAll([
    ...withWords(`${coordinator}/datasources`, 'simple', 'full'),
    ...withWords(one, 'simple', 'full'),
    ...withWords(`${one}/intervals`, 'simple', 'full'),
    ...withWords(`${one}/intervals/${interval}`, 'simple', 'full'),
    ...withWords(`${one}/segments`, 'full'),
    ...withWords(`${one}/loadstatus`, 'simple', 'full', 'forceMetadataRefresh=true'),
    `${one}/segments/${id}`,
    `${one}/segments/${id}/explain`,
    `${one}/intervals/${interval}/explain`,
    `${one}/intervals/${interval}/explainCompaction`,
    `${one}/tiers`,
    ...withWords(`${coordinator}/intervals`, 'simple', 'full'),
    ...withWords(`${coordinator}/intervals/${interval}`, 'simple', 'full'),
    ...withWords(`${coordinator}/loadstatus`, 'simple', 'full'),
    ...withWords(`${coordinator}/loadqueue`, 'simple'),
    `${coordinator}/servers/activity`,
    ...withWords(`${coordinator}/tiers`, 'simple'),
    ...withWords(`${coordinator}/tiers/_default_tier`, 'simple'),
    `${coordinator}/tiers/_default_tier/explain`,
    `${coordinator}/cluster/explain`,
    `${coordinator}/calls`,
    `${coordinator}/certificates`,
    `${coordinator}/serverProblems`,
    ...withWords(metadata, 'full', 'includeUnused'),
    `${metadata}/${dataSource}`,
    `${metadata}/${dataSource}/segments?full`,
    `${metadata}/${dataSource}/segments/${id}`,
    ...withWords(`${coordinator}/metadata/segments`, 'includeOvershadowedStatus'),
    '/svc/v2/datasources',
    `/svc/v2/datasources/${dataSource}`,
  ])
  await requestOnce('POST', `${metadata}/${dataSource}/segments`, [interval.replace('_', '/')])
  await requestOnce('POST', `${metadata}/${dataSource}/segments?full`, [interval.replace('_', '/')])
  const servers = (await requestOnce('GET', `${coordinator}/servers`)).json as string[]
  await requestAll(withWords(`${coordinator}/servers`, 'simple', 'full').slice(1))
  let holders = 0
  for (const server of servers.map((name) => `${coordinator}/servers/${name}`)) {
    await requestAll([
      ...withWords(server, 'simple'),
      ...withWords(`${server}/segments`, 'full'),
      `${server}/explain`,
    ])
    const ids = (await requestOnce('GET', `${server}/segments`)).json as string[]
    if (!ids.includes(segment)) continue
    holders += 1
    await requestOnce('GET', `${server}/segments/${id}`)
  }
  assert.ok(holders > 0)
  const nothing = [`${one}none`, `${one}none/intervals`, `${one}none/segments`, `${one}none/loadstatus`]
  for (const path of nothing) assert.equal((await requestOnce('GET', path)).status, 204)

  for (const resultFormat of ['object', 'array', 'objectLines', 'arrayLines', 'csv'])
    await requestOnce('POST', '/svc/v2/sql', {
      query: `SELECT * FROM ${dataSource}`,
      resultFormat,
      header: true,
    })
  for (const queryType of ['timeBoundary', 'dataSourceMetadata', 'scan'])
    await requestOnce('POST', '/svc/v2', { queryType, dataSource })
  await requestOnce('DELETE', '/svc/v2/not-under-way')
  const query = 'SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range + b.range = 7'
  const json = { query, context: { sqlQueryId: 'endless' } }
  const endless = router.send({ method: 'POST', path: '/svc/v2/sql', json })
  await waitUntil(
    'the query can be canceled',
    () => requestOnce('DELETE', '/svc/v2/sql/endless'),
    ({ status }) => status === 202,
  )
  assert.equal((await endless).status, 500)

  for (const way of [coordinator, indexer]) {
    const marked = `${way}/datasources/${dataSource}`
    await requestOnce('POST', `${marked}/markUnused`, { interval: interval.replace('_', '/') })
    await requestOnce('GET', `${metadata}/${dataSource}/unusedSegments`)
    await requestOnce('POST', `${marked}/markUsed`, { segmentIds: [segment] })
    await requestOnce('DELETE', `${marked}/segments/${id}`)
    await requestOnce('POST', `${marked}/segments/${id}`)
    await requestOnce('DELETE', marked)
    await requestOnce('POST', marked)
  }
  await requestOnce('DELETE', `${coordinator}/datasources/two/intervals/${interval}`)
  await requestOnce('POST', `${indexer}/task`, {
    type: 'kill',
    dataSource: 'two',
    interval: interval.replace('_', '/'),
  })
})

test('rules and their previews match the document', async () => {
  const rules = `${coordinator}/rules`
  const list = [
    { type: 'loadByPeriod', period: 'P30D', tieredReplicants: { _default_tier: 1 } },
    { type: 'loadForever', tieredReplicants: { _default_tier: 1, cold: 1 } },
  ]
  await requestOnce('POST', `${rules}/${dataSource}`, list)
  await requestAll([
    rules,
    `${rules}/history?count=5`,
    ...withWords(`${rules}/${dataSource}`, 'full'),
    ...withWords(`${rules}/${dataSource}/history`, 'full'),
    ...withWords(`${rules}/simulate`, 'full'),
  ])
  const preview = {
    rules: list,
    segments: [{ interval: '2026-01-01/2026-01-02', size: 5 }],
    servers: [{ name: 'a', type: 'historical', tier: '_default_tier' }],
    horizon: 'P90D',
  }
  await requestOnce('POST', `${rules}/simulate`, preview)
  await requestOnce('POST', `${rules}/${dataSource}/markUsed?since=0`)
  await requestAll([`${coordinator}/inventory`, `${coordinator}/changes`, '/svc/router/v1/caller'])
  await requestOnce('POST', `${rules}/simulate?full`, { rules: { [dataSource]: [{ type: 'dropForever' }] } })
})

test('configurations match the document', async () => {
  const config = `${coordinator}/config`
  await requestOnce('POST', config, { maxSegmentsToMove: 7 })
  await requestAll([config, `${config}/history`])
  await requestOnce('POST', `${config}/compaction`, compacted)
  await requestOnce('POST', `${config}/compaction/taskslots?ratio=0.2`)
  await requestAll([
    `${config}/compaction`,
    `${config}/compaction/${dataSource}`,
    `${config}/compaction/${dataSource}/history`,
    `${coordinator}/compaction/progress?dataSource=${dataSource}`,
    ...withWords(`${coordinator}/compaction/status`, 'full'),
  ])
  await requestOnce('POST', `${coordinator}/compaction/simulate`, { compactionConfigs: [compacted] })
  await requestOnce('POST', `${coordinator}/compaction/compact`)
  await requestOnce('DELETE', `${config}/compaction/${dataSource}`)
  assert.equal((await router.send({ path: `${config}/compaction/taskslots` })).status, 405)

  const compaction = `${indexer}/compaction`
  const one = `${compaction}/config/datasources/${dataSource}`
  await requestOnce('POST', `${compaction}/config/cluster`, { useSupervisors: true, engine: 'native' })
  await requestOnce('POST', one, compacted)
  await requestAll([
    `${compaction}/config/cluster`,
    `${compaction}/config/datasources`,
    one,
    `${one}/history`,
    `${compaction}/isSupervisorEnabled`,
    ...withWords(`${compaction}/status/datasources`, 'full'),
    ...withWords(`${compaction}/status/datasources/${dataSource}`, 'full'),
  ])
  await requestOnce('POST', `${compaction}/simulate`, { clusterConfig: { compactionTaskSlotRatio: 1 } })
  await requestOnce('POST', `${compaction}/schedule`, { clusterConfig: { compactionTaskSlotRatio: 1 } })
  await requestOnce('DELETE', one)
})

test('supervisors match the document', async () => {
  const all = `${indexer}/supervisor`
  const one = `${all}/autocompact__${dataSource}`
  const create = () => requestOnce('POST', all, { type: 'autocompact', spec: compacted })
  await create()
  await requestAll([
    ...withWords(all, 'full', 'system', 'state=true'),
    `${all}/history`,
    one,
    ...['status', 'health', 'stats', 'history'].map((name) => `${one}/${name}`),
  ])
  for (const name of ['suspend', 'resume', 'terminate']) await requestOnce('POST', `${one}/${name}`)
  await create()
  await requestOnce('POST', `${one}/shutdown`)
  await create()
  for (const name of ['suspendAll', 'resumeAll', 'terminateAll']) await requestOnce('POST', `${all}/${name}`)
})

test('users, roles, and mappings match the document', async () => {
  const security = '/proxy/coordinator/svc-ext/basic-security'
  const authentication = `${security}/authentication/db/MyBasicMetadataAuthenticator`
  const authorization = `${security}/authorization/db/MyBasicMetadataAuthorizer`
  const views = (path: string) => withWords(path, 'full', 'simplifyPermissions', 'full&simplifyPermissions')
  await requestOnce('POST', `${authentication}/users/ann`)
  await requestOnce('GET', `${authentication}/users/ann`)
  await requestOnce('POST', `${authentication}/users/ann/credentials`, { password: 'a-password-of-ann' })
  await requestOnce('POST', `${authorization}/users/ann`)
  await requestOnce('POST', `${authorization}/roles/reader`)
  const permissions = [{ resource: { type: 'DATASOURCE', name: '.*' }, action: 'READ' }]
  await requestOnce('POST', `${authorization}/roles/reader/permissions`, permissions)
  await requestOnce('POST', `${authorization}/users/ann/roles/reader`)
  await requestOnce('POST', `${authorization}/groupMappings/staff`, {
    groupPattern: 'CN=staff,DC=test',
    roles: [],
  })
  await requestOnce('POST', `${authorization}/groupMappings/staff/roles/reader`)
  await requestAll([
    `${authentication}/users`,
    `${authentication}/users/ann`,
    `${authentication}/cachedSerializedUserMap`,
    `${security}/authentication/refreshAll`,
    `${security}/authorization/refreshAll`,
    `${authorization}/users`,
    ...views(`${authorization}/users/ann`),
    `${authorization}/roles`,
    ...views(`${authorization}/roles/reader`),
    ...views(`${authorization}/roles/reader/permissions`),
    `${authorization}/groupMappings`,
    ...views(`${authorization}/groupMappings/staff`),
    `${authorization}/cachedSerializedUserMap`,
    `${authorization}/cachedSerializedGroupMappingMap`,
    `${authorization}/explain?user=ann&path=/svc/coordinator/v1/rules/${dataSource}`,
    `${authorization}/explain?user=nobody&path=/status`,
  ])
  await requestOnce('DELETE', `${authorization}/groupMappings/staff/roles/reader`)
  await requestOnce('DELETE', `${authorization}/groupMappings/staff`)
  await requestOnce('DELETE', `${authorization}/users/ann/roles/reader`)
  await requestOnce('DELETE', `${authorization}/roles/reader`)
  await requestOnce('DELETE', `${authorization}/users/ann`)
  await requestOnce('DELETE', `${authentication}/users/ann`)
  await waitUntil(
    'the changes are returned',
    () => requestOnce('GET', `${security}/audit`),
    ({ json }) => (json as { entries: readonly unknown[] }).entries.length > 0,
  )
  await requestOnce('GET', `${security}/audit?count=1`)
})

test('simulations match the document', async () => {
  const simulation = '/svc/simulation/v1'
  await requestOnce('GET', `${simulation}/clock`)
  await requestOnce('POST', `${simulation}/clock`, { advance: 'PT1S' })
  const on = () =>
    requestOnce('POST', `${simulation}/faults`, { kind: 'latency', target: 'broker', delayMs: 1 })
  const { id } = (await on()).json as { id: string }
  await requestOnce('GET', `${simulation}/faults`)
  await requestOnce('DELETE', `${simulation}/faults/${id}`)
  await on()
  await requestOnce('DELETE', `${simulation}/faults`)
  await requestOnce('POST', `${simulation}/run`)
  await requestOnce('POST', `${simulation}/run`, { groups: ['HistoricalManagementDuties'] })
  await requestOnce('GET', `${coordinator}/duties`)
})

test('failures match the document', async () => {
  const conflict = await router.send({
    method: 'POST',
    path: '/proxy/coordinator/svc-ext/basic-security/authorization/db/MyBasicMetadataAuthorizer/roles/admin',
  })
  assert.equal(conflict.status, 400)
  const guess = () => router.send({ path: `${coordinator}/rules`, credentials: 'ann:wrong' })
  const answer = await waitUntil('logins are throttled', guess, ({ status }) => status !== 401, { pollMs: 0 })
  assert.equal(answer.status, 429)
  assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/)
})

test('resets match the document', async () => {
  await requestOnce('POST', `${indexer}/testing/snapshots`, { name: 'end' })
  const { json } = await requestOnce('POST', `${indexer}/testing/resets`, { snapshot: 'end' })
  const path = `${indexer}/testing/resets/${(json as { id: string }).id}`
  await waitUntil(
    'the reset is complete',
    async () => (await router.send({ path })).json as { state: string },
    ({ state }) => state === 'SUCCESS',
  )
  await requestOnce('GET', path)
})

test('every operation of the document was called and succeeded', () => {
  const left = operations.filter(({ operation }) => !requested.has(operation.operationId))
  assert.deepEqual(
    left.map(({ method, template }) => `${method} ${template}`),
    // Only documented as unsupported.
    ['get /svc/coordinator/v1/config/compaction/taskslots'],
  )
})
