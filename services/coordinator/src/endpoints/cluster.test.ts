import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Segment, segmentId } from '@svc/domain/segment'
import type { Role } from '@svc/shared/config'
import { createDutyGroup } from '@svc/shared/duties'
import type { Reply, Route } from '@svc/shared/http'
import {
  acquireLease,
  ensureDefaultRules,
  removeNode,
  saveHeartbeat,
  saveRules,
  sql,
} from '@svc/shared/postgres'
import { ReportLog, reportPath, ServedSegments, standbyReportPath } from '@svc/shared/segment-serving'
import {
  createTestContext,
  createTestStores,
  type HttpCall,
  httpRequest,
  serverReport,
  storeSegments,
  testCaller,
  waitUntil,
} from '@svc/shared/testing'
import { knownVersionPath, usersAndRolesPath } from '@svc/shared/users'
import { createSegmentInventory, followRules, ServerInventory } from '../inventory/index.ts'
import { atLeader } from '../leadership/index.ts'
import { createUsersFollowers } from '../users/index.ts'
import { clusterRoutes } from './cluster.ts'
import { internalRoutes } from './internal.ts'
import { firstDefaultRules } from './rules.ts'

const stores = await createTestStores({ after })
const { database } = stores
const context = await createTestContext({ after }, stores, 'coordinator')
const rules = followRules(database)
const servers = new ServerInventory(60_000)
const segments = createSegmentInventory(database, servers.table)
let term: number | undefined = 1
const leadership = { term: () => term }
const dutyGroup = createDutyGroup('SomeDuties', 60_000, [], context.logger)

before(async () => {
  await rules.start()
  const view = { context, leadership, segments, servers, rules, dutyGroups: [dutyGroup] }
  const followers = createUsersFollowers(context, leadership)
  await context.serve({
    routes: [...clusterRoutes(view), ...internalRoutes(context, leadership, segments, servers, followers)],
  })
})
beforeEach(async () => {
  for (const table of [sql`segments`, sql`rules`, sql`leader_leases`])
    await database.query(sql`DELETE FROM ${table}`)
  await ensureDefaultRules(database, firstDefaultRules)
  rules.invalidate()
  servers.reset()
  term = 1
})

const request = (path: string, more: Omit<HttpCall, 'path'> = {}) =>
  httpRequest(context.port, { path, ...more })
const loadStatus = async (query = '') => (await request(`/svc/coordinator/v1/loadstatus${query}`)).json

function segment(dataSource: string, number: number): Segment {
  const key = { dataSource, interval: { start: number, end: number + 1 }, version: 'v1', partitionNum: 0 }
  return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10, totalRows: 1 }
}
const store = (...list: Segment[]) => storeSegments(database, list)
const audit = { author: '', comment: '', identity: '', ip: '' }
const setRules = async (dataSource: string, tieredReplicants: object) => {
  await saveRules(database, dataSource, JSON.stringify([{ type: 'loadForever', tieredReplicants }]), audit, 0)
  rules.invalidate()
}

function reportOf(name: string, tier: string, served: readonly Segment[] = [], given: object = {}) {
  return serverReport(name, {
    ...new ReportLog(new ServedSegments()).next(),
    tier,
    maxSizeBytes: 100,
    segments: served.map(({ id }) => id),
    ...given,
  })
}
const report = (...reports: object[]) => request(reportPath, { method: 'POST', body: { servers: reports } })

describe('the load status', () => {
  it('warns about tiers without servers and about servers that cannot hold segments', async () => {
    const warnings = async () => {
      const answer = await request('/svc/coordinator/v1/loadstatus?full')
      return JSON.parse(answer.headers['x-svc-warnings'] as string) as {
        count: number
        warnings: { type: string; tier?: string; server?: string; message: string }[]
      }
    }
    await store(segment('wiki', 1))
    await setRules('wiki', { hot: 1 })
    await report(
      reportOf('h1', 'hot'),
      reportOf('b1', '_default_tier', [], { type: 'broker', maxSizeBytes: 0 }),
    )
    assert.deepEqual(await warnings(), { count: 0, warnings: [] })
    await setRules('wiki', { hot: 1, nosuchtier: 2 })
    const [tier] = (await warnings()).warnings
    assert.deepEqual([tier!.type, tier!.tier], ['tierWithoutServers', 'nosuchtier'])
    await saveRules(database, 'wiki', '[{"type":"broadcastForever"}]', audit, 0)
    rules.invalidate()
    const [unable, ...more] = (await warnings()).warnings
    assert.deepEqual(more, [])
    assert.deepEqual([unable!.type, unable!.server], ['serverCannotHoldSegments', 'b1'])
    assert.match(unable!.message, /svc\.segmentCache\.locations/)
    const route = clusterRoutes({ context, leadership, segments, servers, rules, dutyGroups: [] }).find(
      ({ method, path }) => method === 'GET' && path === '/svc/coordinator/v1/loadstatus',
    )!
    const seenBy = async (sees: (name: string) => boolean) => {
      const caller = testCaller((_action, _type, name) => sees(name))
      const reply = (await route.handle({ query: {}, caller } as never)) as Reply
      return JSON.parse(reply.headers!['X-Svc-Warnings'] as string).count
    }
    // The warning would reveal that some datasource has broadcast rules.
    assert.deepEqual([await seenBy((name) => name === 'wiki'), await seenBy(() => false)], [1, 0])
  })

  it('is available as a percentage, as segments, and as replicas', async () => {
    const list = [1, 2, 3, 4].map((number) => segment('wiki', number))
    await store(...list, segment('koalas', 1))
    await setRules('wiki', { hot: 2 })
    await setRules('koalas', { cold: 1 })
    await report(
      reportOf('h1', 'hot', list.slice(0, 3)),
      reportOf('h2', 'hot', list.slice(0, 1)),
      reportOf('c', 'cold'),
    )
    assert.deepEqual(await loadStatus(), { koalas: 0, wiki: 75 })
    assert.deepEqual(await loadStatus('?simple'), { koalas: 1, wiki: 1 })
    assert.deepEqual(await loadStatus('?full'), { hot: { wiki: 4 }, cold: { koalas: 1 } })
    assert.deepEqual(Object.keys((await loadStatus('?full')) as object), ['cold', 'hot'])
    assert.deepEqual((await request('/svc/coordinator/v1/datasources/wiki/loadstatus')).json, { wiki: 75 })
    for (const query of ['', '?simple', '?full'])
      assert.equal((await request(`/svc/coordinator/v1/datasources/unknown/loadstatus${query}`)).status, 204)
  })

  it('counts replicas of tiers without enough servers, unless only loadable ones are requested', async () => {
    await store(segment('wiki', 1), segment('wiki', 2))
    await setRules('wiki', { hot: 3, nosuchtier: 1 })
    await report(reportOf('h1', 'hot', [segment('wiki', 1)]), reportOf('h2', 'hot'))
    assert.deepEqual(await loadStatus('?full'), { hot: { wiki: 5 }, nosuchtier: { wiki: 2 } })
    assert.deepEqual(await loadStatus('?full&computeUsingClusterView'), {
      hot: { wiki: 3 },
      nosuchtier: { wiki: 0 },
    })
    assert.deepEqual(await loadStatus('?full&simple'), { wiki: 1 })
  })

  it('is found quickly if rules require thousands of tiers', async () => {
    const tiers = Object.fromEntries(Array.from({ length: 19_000 }, (_, index) => [`t${index}`, 1]))
    await store(...Array.from({ length: 20 }, (_, index) => segment('wiki', index)))
    await setRules('wiki', { ...tiers, hot: 1 })
    await report(reportOf('h1', 'hot', [segment('wiki', 1)]))
    const startedAt = process.cpuUsage()
    for (const query of ['?full', '?full&computeUsingClusterView', '']) {
      const answer = await request(`/svc/coordinator/v1/loadstatus${query}`)
      const { count } = JSON.parse(answer.headers['x-svc-warnings'] as string) as { count: number }
      assert.equal(count, 19_000)
      if (query === '?full') assert.deepEqual((answer.json as { hot: object }).hot, { wiki: 19 })
    }
    const { user, system } = process.cpuUsage(startedAt)
    assert.ok((user + system) / 1000 < 5000, `${(user + system) / 1000} ms`)
  })

  it('includes tiers that serve segments although no rule requires it', async () => {
    await store(segment('wiki', 1))
    await setRules('wiki', { hot: 1 })
    await report(reportOf('h1', 'hot', [segment('wiki', 1)]), reportOf('c', 'cold', [segment('wiki', 1)]))
    assert.deepEqual(await loadStatus('?full'), { cold: { wiki: 0 }, hot: { wiki: 0 } })
  })

  it('is 100 for datasources that need no replicas, and empty without datasources', async () => {
    assert.deepEqual(await loadStatus(), {})
    await store(segment('wiki', 1))
    await setRules('wiki', {})
    assert.deepEqual(await loadStatus(), { wiki: 100 })
  })

  it('includes every datasource and tier, whatever their names', async () => {
    const names = ['__proto__', 'constructor']
    const list = names.map((name) => segment(name, 1))
    await store(...list)
    for (const name of names) await setRules(name, {})
    await report(...names.map((name) => reportOf(name, name, list)))
    for (const query of ['', '?simple', '?full'])
      assert.deepEqual(Object.keys((await loadStatus(query)) as object).sort(), names, query)
    const full = (await request('/svc/coordinator/v1/loadstatus?full')).text
    assert.equal(full.match(/"__proto__":0/g)?.length, 2)
  })
})

describe('a report', () => {
  it('is accepted only by the leader', async () => {
    term = undefined
    const refused = await report(reportOf('a', 'hot'))
    assert.equal(refused.status, 503)
    assert.equal(servers.get('a'), undefined)
    term = 1
    assert.deepEqual((await report(reportOf('a', 'hot'))).json, { term: 1, resync: [], voidUntilMs: {} })
    assert.deepEqual((await report(reportOf('b', 'hot', [], { segments: null }))).json, {
      term: 1,
      resync: ['b'],
      voidUntilMs: {},
    })
  })

  it('is accepted by standbys at a separate endpoint, where the leader ignores it', async () => {
    const toStandby = async (more: object) =>
      (
        await request(standbyReportPath, {
          method: 'POST',
          body: { servers: [reportOf('follower', 'hot', [], { session: 'one', ...more })] },
        })
      ).json
    term = undefined
    assert.deepEqual(await toStandby({ segments: null }), { resync: ['follower'] })
    assert.deepEqual(await toStandby({ to: 3 }), { resync: [] })
    assert.deepEqual(await toStandby({ segments: null, from: 3, to: 4 }), { resync: [] })
    term = 1
    assert.deepEqual(await toStandby({ segments: null, from: 7 }), { resync: [] })
    assert.equal(servers.get('follower'), undefined)
    const confirmed = reportOf('follower', 'hot', [], { session: 'one', segments: null, from: 3, to: 3 })
    assert.deepEqual((await report(confirmed)).json, {
      term: 1,
      resync: ['follower'],
      resyncFrom: { follower: 4 },
      voidUntilMs: {},
    })
    servers.forgetGone(['follower'])
  })

  const bad: readonly object[] = [
    {},
    { servers: [{}] },
    { servers: 'a' },
    { servers: [reportOf('a', 'hot', [], { maxSizeBytes: -1 })] },
    { servers: [reportOf('a', 'hot', [], { segments: [7] })] },
    { servers: [reportOf('a', 'hot', [], { more: 1 })] },
    { servers: [reportOf('a', 'hot', [], { type: 'router' })] },
  ]
  for (const body of bad) {
    it(`is rejected if it is ${JSON.stringify(body).slice(0, 60)}`, async () => {
      assert.equal((await request(reportPath, { method: 'POST', body })).status, 400)
      assert.deepEqual(servers.servers(), [])
    })
  }
})

describe('users and roles for other servers', () => {
  const usersAndRoles = (version: number) => ({ version, authenticators: {}, authorizers: {} })

  it('are returned immediately to servers with another version, and to others when they change', async () => {
    context.replaceUsers(usersAndRoles(5))
    assert.deepEqual((await request(`${usersAndRolesPath}?version=4`)).json, { directory: usersAndRoles(5) })
    assert.deepEqual((await request(usersAndRolesPath)).json, { directory: usersAndRoles(5) })
    let isAnswered = false
    const held = request(`${usersAndRolesPath}?version=5`).finally(() => {
      isAnswered = true
    })
    await request(usersAndRolesPath)
    assert.equal(isAnswered, false)
    context.replaceUsers(usersAndRoles(6))
    assert.deepEqual((await held).json, { directory: usersAndRoles(6) })
    assert.equal((await request(`${usersAndRolesPath}?version=x`)).status, 400)
  })
})

describe('waiting for a version of users and roles', () => {
  const version = 40
  const known = () => request(`${knownVersionPath}?version=${version}`)
  /** Reports the version of a server, as its request for a newer one does. Does not wait for the answer. */
  const follow = (server: string, has: number) =>
    request(`${usersAndRolesPath}?version=${has}`, { headers: { 'X-Svc-From': server } }).catch(
      () => undefined,
    )
  const alive = ['router r', 'historical h'] as const

  before(async () => {
    for (const server of alive) {
      const [role, name] = server.split(' ') as [Role, string]
      await saveHeartbeat(database, { ...context.node(), role, name })
    }
    await context.discovery.refresh()
    context.replaceUsers({ version, authenticators: {}, authorizers: {} })
  })

  it('ends when every live server has requested a newer version', async () => {
    await Promise.all(alive.map((server) => follow(server, version - 1)))
    let isAnswered = false
    const answer = known().finally(() => {
      isAnswered = true
    })
    void follow(alive[0], version)
    await request('/svc/coordinator/v1/isLeader')
    assert.equal(isAnswered, false, 'the historical still uses the previous version')
    void follow(alive[1], version)
    assert.deepEqual((await answer).json, { silent: [] })
  })

  it('ends when the missing server is dead', async () => {
    const later = version + 1
    context.replaceUsers({ version: later, authenticators: {}, authorizers: {} })
    const answer = request(`${knownVersionPath}?version=${later}`)
    void follow(alive[0], later)
    await removeNode(database, { ...context.node(), role: 'historical', name: 'h' })
    await context.discovery.refresh()
    assert.deepEqual((await answer).json, { silent: [] })
  })

  it('names this coordinator if it has not read the version yet', async () => {
    const { json } = await request(`${knownVersionPath}?version=99`)
    assert.deepEqual(json, { silent: [`coordinator ${context.node().name}`] })
  })

  it('happens only on the leader', async () => {
    term = undefined
    context.replaceUsers({ version: 50, authenticators: {}, authorizers: {} })
    assert.deepEqual((await request(`${knownVersionPath}?version=50`)).json, { silent: [] })
  })
})

describe('state that only the leader knows', () => {
  const paths = ['/loadstatus', '/datasources/wiki/loadstatus']
  it('is served by redirecting to the leader with an unchanged path', async () => {
    term = undefined
    await acquireLease(
      database,
      { role: 'coordinator', holder: 'x', node: 'x', baseUrl: 'http://192.0.2.1:8081' },
      60_000,
    )
    await context.discovery.refresh()
    for (const path of paths) {
      const answer = await request(`/svc/coordinator/v1${path}?full&x=%2F`)
      assert.equal(answer.status, 307)
      assert.equal(answer.headers.location, `http://192.0.2.1:8081/svc/coordinator/v1${path}?full&x=%2F`)
    }
    assert.equal((await request('/svc/coordinator/v1/leader')).text, 'http://192.0.2.1:8081')
    const [someRoute] = clusterRoutes({ context, leadership, segments, servers, rules, dutyGroups: [] })
    const input = { request: { url: '/svc/coordinator/v1/loadstatus?full' }, word: 'druid' }
    const reply = atLeader(leadership, context, someRoute as Route).handle(input as never) as Reply
    assert.equal(reply.headers.Location, 'http://192.0.2.1:8081/druid/coordinator/v1/loadstatus?full')
  })

  it('is unavailable on the leader while its lease has expired', async () => {
    term = undefined
    const { name } = context.node()
    await database.query(sql`DELETE FROM leader_leases`)
    const baseUrl = 'http://192.0.2.1:8081'
    await acquireLease(database, { role: 'coordinator', holder: name, node: name, baseUrl }, 60_000)
    await context.discovery.refresh()
    assert.equal((await request('/svc/coordinator/v1/loadstatus')).status, 503)
    await database.query(sql`DELETE FROM leader_leases`)
  })

  it('is unavailable while there is no leader', async () => {
    term = undefined
    await waitUntil('discovery is up to date', async () => {
      await context.discovery.refresh()
      return !context.discovery.hasLeader('coordinator')
    })
    assert.equal((await request('/svc/coordinator/v1/loadstatus')).status, 503)
    assert.equal((await request('/svc/coordinator/v1/leader')).status, 503)
  })
})

describe('leadership and duties', () => {
  it('are shown', async () => {
    const leading = await request('/svc/coordinator/v1/isLeader')
    assert.deepEqual([leading.status, leading.json], [200, { leader: true }])
    term = undefined
    const following = await request('/svc/coordinator/v1/isLeader')
    assert.deepEqual([following.status, following.json], [404, { leader: false }])
    const { dutyGroups } = (await request('/svc/coordinator/v1/duties')).json as {
      dutyGroups: { name: string }[]
    }
    assert.deepEqual(
      dutyGroups.map(({ name }) => name),
      ['SomeDuties'],
    )
    const cluster = (await request('/svc/coordinator/v1/cluster')).json as Record<string, object[]>
    assert.deepEqual(cluster.coordinator, [
      { host: '127.0.0.1', service: 'svc/coordinator', plaintextPort: context.port },
    ])
    assert.deepEqual(cluster.historical, [])
  })
})
