// Every endpoint of every server is open to users with the required permission and to nobody else, checked as
// users with one permission each. No request can make the router connect to anything but its targets.

import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { readSecret } from '@svc/cli/home'
import type { Action, Permission, ResourceType } from '@svc/domain/access'
import {
  type Answer,
  basicAuthorization,
  createHttpClient,
  loadAudit,
  type SentRequest,
  waitUntil,
} from '@svc/shared/testing'
import fc from 'fast-check'
import { endpointPermissions, neededFor } from './support/endpoint-permissions.ts'
import { assertError } from './support/error-answer.ts'
import { runTask } from './support/flights.ts'
import { inlineTask } from './support/inline-task.ts'
import { sendRaw } from './support/raw-request.ts'
import { type Endpoint, fillPath, loadRouteTables, pathThroughRouter } from './support/route-tables.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { addUsers, credentialsOf } from './support/test-users.ts'

// Endpoints for simulations and for tests reject every caller where these features are not enabled.
const cluster = await startTestCluster({
  profile: 'secure',
  instances: 'worker=1',
  set: ['svc.simulation.enabled=true', 'svc.simulation.clock.enabled=true', 'svc.testing.enabled=true'],
})
after(() => cluster.end())
const endpoints = await loadRouteTables()
const admin = `admin:${cluster.adminPassword}`
const internalUser = `svc_system:${readSecret(cluster.home, 'internal-client-password')}`

const grant = (type: ResourceType, name: string, action: Action): Permission => ({
  resource: { type, name },
  action,
})

/** Users with one permission each, by name; they cover everything that endpoints require. */
const users = {
  nothing: [],
  'state-reader': [grant('STATE', 'STATE', 'READ')],
  'state-writer': [grant('STATE', 'STATE', 'WRITE')],
  'config-reader': [grant('CONFIG', 'CONFIG', 'READ')],
  'config-writer': [grant('CONFIG', 'CONFIG', 'WRITE')],
  'security-reader': [grant('CONFIG', 'security', 'READ')],
  'security-writer': [grant('CONFIG', 'security', 'WRITE')],
  // The rules of a datasource that is named like the preview path have an endpoint of their own.
  'datasource-reader': [grant('DATASOURCE', 'nosuch-.*|simulate', 'READ')],
  'datasource-writer': [grant('DATASOURCE', 'nosuch-.*', 'WRITE')],
  overseer: [
    grant('STATE', 'STATE', 'READ'),
    grant('CONFIG', 'CONFIG', 'READ'),
    grant('DATASOURCE', 'visible', 'READ'),
  ],
  'visible-reader': [grant('DATASOURCE', 'visible', 'READ')],
  'visible-writer': [grant('DATASOURCE', 'visible', 'READ'), grant('DATASOURCE', 'visible', 'WRITE')],
} as const satisfies Record<string, readonly Permission[]>

type UserName = keyof typeof users

before(() => addUsers(cluster, users))

const instanceOf = ({ role }: Endpoint): string => (role === 'historical' ? 'historical-1' : role)

/** The routes to an endpoint: directly at its server, and through the router where the router forwards it. */
function routesTo(endpoint: Endpoint): { instance: string; path: string }[] {
  const direct = { instance: instanceOf(endpoint), path: fillPath(endpoint.path) }
  const routed = pathThroughRouter(endpoint)
  return routed === undefined || endpoint.role === 'router'
    ? [direct]
    : [direct, { instance: 'router', path: routed }]
}

/** Requests an endpoint in every way; each answer must pass `check`. */
async function requestEveryWay(
  endpoint: Endpoint,
  request: Omit<SentRequest, 'path' | 'method'>,
  check: (answer: Answer, about: string) => void,
): Promise<void> {
  for (const { instance, path } of routesTo(endpoint)) {
    const answer = await cluster.at(instance).send({ ...request, method: endpoint.method, path })
    check(
      answer,
      `${endpoint.method} ${path} at the ${instance}: ${answer.status} ${answer.text.slice(0, 300)}`,
    )
  }
}

const isClosed = ({ access }: Endpoint): boolean => access.kind !== 'open'

/** Whether authentication and authorization let this request pass. */
function assertAccepted({ status }: Answer, about: string): void {
  assert.ok(status !== 401 && status !== 403 && status < 500, about)
}

/** Whether a path changes all supervisors of the datasources that the caller can write, and no others. */
const changesOwnSupervisors = (path: string): boolean =>
  /\/supervisor\/(suspend|resume|terminate)All$/.test(path)

describe('the permissions that servers require', () => {
  const nameOf = ({ method, path }: Endpoint) => `${method} ${path}`
  const withAccess = (kind: string) =>
    [...new Set(endpoints.filter(({ access }) => access.kind === kind).map(nameOf))].sort()

  test('match the table of permissions, which covers every endpoint', () => {
    const tested = new Map<string, Set<string>>()
    for (const endpoint of endpoints) {
      const needed = neededFor(endpoint.access)
      tested.set(needed, (tested.get(needed) ?? new Set()).add(nameOf(endpoint)))
    }
    const sorted = (names: Iterable<string>) => [...names].sort()
    assert.deepEqual(
      Object.fromEntries([...tested].map(([needed, names]) => [needed, sorted(names)])),
      Object.fromEntries(
        Object.entries(endpointPermissions).map(([needed, names]) => [needed, sorted(names)]),
      ),
    )
  })

  test('only a few endpoints are open, and only a few are for servers only', () => {
    assert.deepEqual(withAccess('open'), [
      'GET /status/health',
      'GET /status/ready',
      'GET /svc/broker/v1/readiness',
      'GET /svc/coordinator/v1/isLeader',
      'GET /svc/historical/v1/readiness',
      'GET /svc/indexer/v1/isLeader',
    ])
    assert.deepEqual(withAccess('internal'), [
      'GET /svc-internal/v1/security/directory',
      'GET /svc-internal/v1/security/known',
      'GET /svc-internal/v1/segments/holders',
      'POST /svc-internal/v1/reset',
      'POST /svc-internal/v1/segments/files',
      'POST /svc-internal/v1/servers/report',
      'POST /svc-internal/v1/servers/standbyReport',
    ])
  })

  test('reading requires READ, and changing something requires WRITE', () => {
    for (const endpoint of endpoints) {
      const { access, method, path } = endpoint
      if (access.kind === 'open' || access.kind === 'internal') continue
      // Queries, previews and interval lookups are POST requests that change nothing.
      const isRead =
        method === 'GET' ||
        path.startsWith('/svc/v2') ||
        path.endsWith('/rules/simulate') ||
        path.endsWith('/metadata/datasources/:dataSource/segments')
      if (access.kind === 'authenticated') assert.ok(isRead || changesOwnSupervisors(path), nameOf(endpoint))
      else assert.equal(access.action, isRead ? 'READ' : 'WRITE', nameOf(endpoint))
    }
  })

  test('a path that names a datasource requires permission on that datasource', () => {
    for (const endpoint of endpoints.filter(({ path }) => path.includes('/:dataSource'))) {
      const { access, path } = endpoint
      // As in Druid 37, configuring compaction requires the permission on configurations, whatever the
      // datasource.
      if (path.startsWith('/svc/coordinator/v1/config/compaction/')) {
        assert.ok('name' in access && access.name === 'CONFIG', nameOf(endpoint))
        continue
      }
      assert.ok(access.kind === 'permission' && 'parameter' in access, nameOf(endpoint))
      assert.equal(access.parameter, 'dataSource', nameOf(endpoint))
    }
  })
})

describe('unauthenticated callers', () => {
  const headers: Record<string, string | undefined> = {
    'no credentials': undefined,
    'a wrong password': basicAuthorization('admin:wrong'),
    'an empty password': basicAuthorization('admin:'),
    'an unknown user': basicAuthorization('nobody:nothing'),
    'a property name of every object': basicAuthorization('constructor:x'),
    'a name without a colon': basicAuthorization('admin'),
    'another scheme': 'Bearer abc',
    'invalid base64': 'Basic ***',
    'an empty header': '',
    'the right password with more after it': `${basicAuthorization(admin)}, Basic x`,
  }
  for (const [name, authorization] of Object.entries(headers)) {
    test(`${name}: 401 at every closed endpoint`, async () => {
      const request = { credentials: null, headers: authorization === undefined ? {} : { authorization } }
      // Every password costs the server a hash, so most endpoints are tested without one.
      const tested = authorization === undefined ? endpoints.filter(isClosed) : someOfEachRole()
      assert.ok(tested.length > 4)
      for (const endpoint of tested) {
        await requestEveryWay(endpoint, request, (answer, about) => assertError(answer, 401, about))
      }
    })
  }

  test('open endpoints answer without credentials', async () => {
    const tested = endpoints.filter((endpoint) => !isClosed(endpoint))
    assert.ok(tested.some(({ path }) => path === '/status/health'))
    for (const endpoint of tested) {
      await requestEveryWay(endpoint, { credentials: null }, (answer, about) => {
        if (endpoint.role === 'router' || !about.includes('at the router'))
          assert.equal(answer.status, 200, about)
        // The router has no caller to forward as, so it requires a login first.
        else assertError(answer, 401, about)
      })
    }
  })

  test('authentication comes first: answers about unknown paths and methods reveal nothing', async () => {
    for (const { instance } of cluster.plan.services) {
      const requests: SentRequest[] = [
        { path: '/nosuch' },
        { path: '/svc-internal/v1/nosuch' },
        { method: 'PUT', path: '/status' },
        { method: 'POST', path: '/status', text: 'x', headers: { 'content-type': 'text/plain' } },
      ]
      for (const request of requests) {
        assertError(
          await cluster.at(instance).send({ ...request, credentials: null }),
          401,
          `${instance} ${request.path}`,
        )
      }
    }
  })

  function someOfEachRole(): Endpoint[] {
    return [...Map.groupBy(endpoints.filter(isClosed), ({ role }) => role).values()].map(
      (ofRole) => ofRole[0]!,
    )
  }
})

/**
 * The user who has exactly the permission that an endpoint requires; undefined if it requires no single
 * permission.
 */
function holderOf({ access }: Endpoint): UserName | undefined {
  if (access.kind !== 'permission') return undefined
  const subject =
    access.type === 'DATASOURCE' ? 'datasource' : 'name' in access ? access.name.toLowerCase() : ''
  const holder = `${subject}-${access.action === 'READ' ? 'reader' : 'writer'}`
  if (holder in users) return holder as UserName
  throw new Error(`No user has exactly the permission ${JSON.stringify(access)}: add one to this test`)
}

/** Whether a user has exactly the permission that an endpoint requires. */
const holds = (name: UserName, endpoint: Endpoint): boolean => {
  const holder = holderOf(endpoint)
  return holder === name || (name === 'overseer' && (holder === 'state-reader' || holder === 'config-reader'))
}

describe('authenticated users', () => {
  for (const name of Object.keys(users) as UserName[]) {
    test(`${name} can use the endpoints that it has permission for, and no others`, async () => {
      let accepted = 0
      for (const endpoint of endpoints) {
        const { access } = endpoint
        await requestEveryWay(endpoint, { credentials: credentialsOf(name) }, (answer, about) => {
          if (access.kind === 'internal') assertError(answer, 403, about)
          else if (access.kind === 'permission' && !holds(name, endpoint)) assertError(answer, 403, about)
          else assertAccepted(answer, about)
        })
        if (holds(name, endpoint)) accepted += 1
      }
      const holdsNothingNeeded = ['nothing', 'visible-reader', 'visible-writer'].includes(name)
      assert.equal(accepted > 0, !holdsNothingNeeded, `${name} could use ${accepted} endpoints`)
    })
  }

  test('admin can use everything except server-only endpoints', async () => {
    for (const endpoint of endpoints.filter(({ method }) => method === 'GET')) {
      await requestEveryWay(endpoint, {}, (answer, about) => {
        if (endpoint.access.kind === 'internal') assertError(answer, 403, about)
        else assertAccepted(answer, about)
      })
    }
    const closed = endpoints.filter(({ access }) => access.kind === 'internal')
    assert.ok(closed.length >= 2)
    for (const endpoint of closed) {
      await requestEveryWay(endpoint, {}, (answer, about) => assertError(answer, 403, about))
    }
  })

  test('checks path, method, content type, permission, and body in this order', async () => {
    const { send } = cluster.at('coordinator')
    const credentials = credentialsOf('nothing')
    const path = '/svc/coordinator/v1/rules/x'
    const text = { text: '{', headers: { 'content-type': 'text/plain' } }
    const json = { text: '{', headers: { 'content-type': 'application/json' } }
    assertError(await send({ method: 'PUT', path: '/nosuch', ...text, credentials }), 404)
    assertError(await send({ method: 'PUT', path, ...text, credentials }), 405)
    assertError(await send({ method: 'POST', path, ...text, credentials }), 415)
    assertError(await send({ method: 'POST', path, ...json, credentials }), 403)
    assertError(await send({ method: 'POST', path, ...json }), 400)
  })
})

describe('a user who can read one datasource', () => {
  let hiddenTask = ''
  before(async () => {
    await runTask(cluster.router, inlineTask('visible'))
    hiddenTask = await runTask(cluster.router, inlineTask('hidden'))
    for (const dataSource of ['visible', 'hidden']) {
      await cluster.router.post(`/svc/coordinator/v1/rules/${dataSource}`, [{ type: 'loadForever' }])
      await waitUntil(
        `${dataSource} is loaded`,
        () => cluster.router.get<Record<string, number>>('/svc/coordinator/v1/loadstatus'),
        (status) => status[dataSource] === 100,
      )
    }
  })
  const credentials = credentialsOf('visible-writer')

  test('sees that datasource in lists, and not the other one', async () => {
    const lists = endpoints.filter(
      ({ access, method, path }) =>
        // As in Druid 37, values that are set there cannot be read back.
        access.kind === 'authenticated' && method === 'GET' && !path.endsWith('/config/compaction/taskslots'),
    )
    let shown = 0
    for (const endpoint of lists) {
      for (const { instance, path: filled } of routesTo(endpoint)) {
        const path = filled.replace('nosuch-interval', '1900-01-01_2100-01-01?full')
        const seen = await cluster.at(instance).send({ path, credentials })
        assert.equal(seen.status, 200, `${path}: ${seen.text}`)
        assert.ok(!seen.text.includes('hidden'), `${path}: ${seen.text}`)
        const all = await cluster.at(instance).send({ path })
        if (all.text.includes('hidden')) {
          shown += 1
          assert.ok(
            seen.text.includes('visible'),
            `${path} does not show what the user can see: ${seen.text}`,
          )
        }
        const none = await cluster.at(instance).send({ path, credentials: credentialsOf('nothing') })
        assert.equal(none.status, 200, `${path}: ${none.text}`)
        assert.doesNotMatch(none.text, /visible|hidden/, path)
      }
    }
    assert.ok(shown >= 2, `only ${shown} lists show datasources to admin`)
  })

  test('a user who can read the cluster and its configuration sees one datasource and not the other', async () => {
    const compaction = { dataSource: 'hidden', skipOffsetFromLatest: 'P1D' }
    await cluster.router.post('/svc/coordinator/v1/config/compaction', compaction)
    const stateReader = credentialsOf('overseer')
    let shown = 0
    for (const endpoint of endpoints) {
      const { access, method, path: template } = endpoint
      if (method !== 'GET' || access.kind !== 'permission' || !['STATE', 'CONFIG'].includes(access.type))
        continue
      // Metrics of all datasources by name are for users who monitor the cluster, as documented in
      // docs/security.md.
      if (template === '/metrics' || ('name' in access && access.name === 'security')) continue
      const queries = template.includes('/status') ? [''] : ['', '?full', '?simple']
      const path = template
        .replace(':dataSource', 'hidden')
        .replace(':server', cluster.nameOf('historical-1'))
        .replace(':tier', '_default_tier')
      for (const query of queries) {
        const at = cluster.at(instanceOf(endpoint))
        const seen = await at.send({ path: `${fillPath(path)}${query}`, credentials: stateReader })
        const about = `${path}${query}: ${seen.status} ${seen.text.slice(0, 300)}`
        assert.ok(seen.status < 500 && seen.status !== 403, about)
        if (seen.status !== 200) continue
        assert.doesNotMatch(seen.text, /hidden/, about)
        if (seen.text.includes('visible')) shown += 1
      }
    }
    assert.ok(shown >= 8, `only ${shown} answers show the user's datasource`)
  })

  test("single objects of the other datasource are refused, those of the user's datasource are not", async () => {
    const single = endpoints.filter(
      ({ access, method }) =>
        access.kind === 'permission' && access.type === 'DATASOURCE' && method === 'GET',
    )
    assert.ok(single.length >= 3)
    for (const { access, path: template, role } of single) {
      if (access.kind !== 'permission' || !('parameter' in access)) continue
      const pathOf = (dataSource: string) => fillPath(template.replace(`:${access.parameter}`, dataSource))
      const at = cluster.at(role)
      assertError(await at.send({ path: pathOf('hidden'), credentials }), 403, template)
      assertAccepted(await at.send({ path: pathOf('visible'), credentials }), template)
    }
  })

  test('explanations reveal nothing about what the caller cannot read: existing and missing things have equal answers', async () => {
    const [hiddenSegment] = await cluster.router.get<string[]>(
      '/svc/coordinator/v1/metadata/datasources/hidden/segments',
    )
    const explanations = endpoints.filter(
      ({ role, path }) => role === 'coordinator' && /\/explain\w*$/.test(path),
    )
    assert.equal(explanations.length, 7)
    const names = {
      ':dataSource': ['hidden', 'missing'],
      ':segment': [hiddenSegment!, 'missing'],
      ':interval': ['1900-01-01_2100-01-01', '1900-01-01_1900-01-02'],
      ':server': [cluster.nameOf('historical-1'), 'missing:1'],
      ':tier': ['_default_tier', 'missing'],
      ':authorizer': ['basic', 'missing'],
    }
    /** The answer without what the caller sent itself. */
    const shapeOf = ({ status, text, headers }: Answer, sent: readonly string[]) => ({
      status,
      text: sent.reduce((all, name) => all.replaceAll(name, 'NAME'), text),
      headers: Object.keys(headers).sort(),
    })
    for (const user of ['nothing', 'visible-reader', 'config-writer', 'datasource-writer'] as const)
      for (const { path: template } of explanations) {
        const shapes = await Promise.all(
          [0, 1].map(async (index) => {
            const sent = Object.entries(names).map(
              ([parameter, values]) => [parameter, values[index]!] as const,
            )
            const filled = sent.reduce(
              (path, [parameter, value]) => path.replace(parameter, encodeURIComponent(value)),
              template,
            )
            const answer = await cluster
              .at('coordinator')
              .send({ path: filled, credentials: credentialsOf(user) })
            return shapeOf(
              answer,
              sent.map(([, value]) => value),
            )
          }),
        )
        assert.equal(shapes[0]!.status, 403, `${template} as ${user}: ${shapes[0]!.text}`)
        assert.deepEqual(shapes[0], shapes[1], `${template} as ${user}`)
      }
    // A segment of another datasource does not exist in the datasource that the caller can read.
    const own = (segment: string) =>
      cluster.at('coordinator').send({
        path: `/svc/coordinator/v1/datasources/visible/segments/${encodeURIComponent(segment)}/explain`,
        credentials: credentialsOf('visible-reader'),
      })
    const missingSegment = hiddenSegment!.replace('hidden', 'absent')
    const [other, none] = [await own(hiddenSegment!), await own(missingSegment)]
    assert.equal(other.status, 404)
    assert.deepEqual(shapeOf(other, [hiddenSegment!]), shapeOf(none, [missingSegment]))
  })

  test('tasks of the other datasource do not exist for the user, and cannot be submitted', async () => {
    const task = `/svc/indexer/v1/task/${encodeURIComponent(hiddenTask)}`
    for (const instance of ['overlord', 'router']) {
      const { send } = cluster.at(instance)
      for (const path of [task, `${task}/status`, `${task}/log`]) {
        assertError(await send({ path, credentials }), 404, path)
        assertAccepted(await send({ path }), path)
      }
      assertError(await send({ method: 'POST', path: `${task}/shutdown`, credentials }), 404)
      const submit = { method: 'POST', path: '/svc/indexer/v1/task', json: inlineTask('hidden') }
      assertError(await send({ ...submit, credentials }), 403)
      assertError(await send({ ...submit, credentials: credentialsOf('visible-reader') }), 403)
      assertError(await send({ path: '/svc/indexer/v1/tasks?datasource=hidden', credentials }), 403)
    }
  })

  test('a preview omits the other datasource and does not reveal its name', async () => {
    const path = '/svc/coordinator/v1/rules/simulate'
    const preview = (json: object, as: string) =>
      cluster.router.send({ method: 'POST', path: `${path}?full`, json, credentials: as })
    const forAll = { rules: [{ type: 'dropForever' }] }
    const seen = await preview(forAll, credentials)
    assert.equal(seen.status, 200, seen.text)
    assert.match(seen.text, /visible/)
    assert.doesNotMatch(seen.text, /hidden|"capacityBytes"/)
    const none = await preview(forAll, credentialsOf('nothing'))
    assert.equal(none.status, 200, none.text)
    assert.doesNotMatch(none.text, /visible|hidden/)
    const interval = '2026-01-01/2026-01-02'
    for (const json of [
      { rules: { hidden: [] } },
      { rules: [], segments: [{ dataSource: 'hidden', interval }], servers: [] },
    ]) {
      assertError(await preview(json, credentials), 403)
      assert.equal((await preview(json, admin)).status, 200)
    }
  })

  test('a reader cannot write', async () => {
    const path = '/svc/coordinator/v1/rules/visible'
    const request = { method: 'POST', path, json: [{ type: 'dropForever' }] }
    assertError(await cluster.router.send({ ...request, credentials: credentialsOf('visible-reader') }), 403)
    assert.deepEqual(
      (await cluster.router.get<{ type: string }[]>(path)).map(({ type }) => type),
      ['loadForever'],
    )
  })
})

describe('the router forwards requests as the caller', () => {
  const path = '/svc/coordinator/v1/rules/audited'

  test('ignores addresses and identities that a caller claims in headers', async () => {
    const answer = await cluster.router.send({
      method: 'POST',
      path,
      json: [],
      headers: {
        'x-forwarded-for': '6.6.6.6',
        forwarded: 'for=6.6.6.6',
        'x-real-ip': '6.6.6.6',
        'x-svc-caller-address': `x 1 ${Date.now()} 6.6.6.6 x`,
        'x-svc-from': 'coordinator 6.6.6.6:1',
        'x-svc-author': 'someone else',
        'x-svc-comment': 'why',
      },
    })
    assert.equal(answer.status, 200, answer.text)
    const [entry] = await loadAudit(cluster.store, { type: 'rules', key: 'audited' })
    const { author, comment, identity, ip } = entry!
    assert.deepEqual(
      { author, comment, identity, ip },
      { author: 'someone else', comment: 'why', identity: 'admin', ip: '127.0.0.1' },
    )
  })
})

describe('the router only connects to its targets', () => {
  let elsewhere: Server
  let visits = 0
  let target = ''
  before(async () => {
    elsewhere = createServer((socket) => {
      visits += 1
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL')
    })
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve))
    const address = elsewhere.address()
    target = typeof address === 'object' && address ? `127.0.0.1:${address.port}` : ''
  })
  after(() => elsewhere.close())

  const rules = '/svc/coordinator/v1/rules'
  const directory = 'svc-internal/v1/security/directory'

  /** Sends a raw request line as the internal user, whom no permission would stop. */
  async function request(line: string, headers = ''): Promise<{ status: number | undefined; text: string }> {
    const host = /^Host:/im.test(headers) ? '' : `Host: ${new URL(cluster.routerUrl).host}\r\n`
    const authorization = `Authorization: ${basicAuthorization(internalUser)}\r\n`
    const bytes = `${line} HTTP/1.1\r\n${host}${authorization}Connection: close\r\n${headers}\r\n`
    return sendRaw(cluster.routerUrl, bytes, cluster.trusted)
  }

  /** Checks that the request reached no other host and no server-only endpoint. */
  function assertNotMisrouted({ text }: { text: string }, about: string): void {
    assert.equal(visits, 0, `${about} reached something else: ${text}`)
    assert.ok(!text.includes('EVIL') && !text.includes('"authenticators"'), `${about}: ${text.slice(0, 500)}`)
  }

  test('forwards a plain path, so that the refusals below mean something', async () => {
    const answer = await request(`GET ${rules}`)
    assert.equal(answer.status, 200, answer.text)
    assert.ok(answer.text.includes('_default'))
    const inside = createHttpClient(cluster.urls.coordinator!, {
      trusted: cluster.trusted,
      credentials: internalUser,
    })
    assert.ok((await inside.send({ path: `/${directory}` })).text.includes('"authenticators"'))
    await inside.close()
  })

  test('rejects targets that name another host, leave the path, or hide what they are', async () => {
    const targets = [
      `http://${target}${rules}`,
      `https://${target}${rules}`,
      `http://${target}`,
      `//${target}${rules}`,
      `///${target}/`,
      `/\\${target}${rules}`,
      `\\\\${target}${rules}`,
      `@${target}${rules}`,
      `/@${target}${rules}`,
      `/svc/coordinator@${target}${rules}`,
      `/svc/coordinator:80@${target}/`,
      `/proxy/coordinator@${target}/x`,
      `/proxy/coordinator/@${target}/x`,
      `/proxy/coordinator.${target}/x`,
      `/proxy/coordinator:1@${target}/x`,
      `/proxy/coordinator//${target}/x`,
      `/proxy/coordinator/\\${target}/x`,
      `/proxy/coordinator/http://${target}/x`,
      `/proxy/http://${target}/x`,
      `/proxy/${target}/x`,
      `/proxy/coordinator%2f%2f${target}/x`,
      `/proxy/coordinator/..%2f..%2f${target}`,
      `/proxy/coordinator%00.${target}/x`,
      `/proxy/coordinator?@${target}/x`,
      `/proxy/coordinator#@${target}/x`,
      `/proxy/coordinator;@${target}/x`,
      `/proxy/coordinator/../${rules}`,
      `/proxy/coordinator/%2e%2e${rules}`,
      `/proxy/coordinator/.${rules}`,
      `/proxy/coordinator/x/..${rules}`,
      `/proxy/overlord/../coordinator${rules}`,
      `/proxy/historical${rules}`,
      `/proxy/broker/status`,
      `/proxy`,
      `/proxy/`,
      `/proxy/coordinator`,
      `/proxy/coordinatorx${rules}`,
      `/svc/coordinator/../../${directory}`,
      `/svc/coordinator/%2e%2e/%2e%2e/${directory}`,
      `/svc/coordinator/..;/..;/${directory}`,
      `/svc/coordinator/..%2f..%2f${directory}`,
      `/svc/coordinator/..%5c..%5c${directory}`,
      `/${directory}`,
      `/proxy/coordinator/${directory}`,
      `/proxy/coordinator//${directory}`,
      `/proxy/coordinator/./${directory}`,
      `/proxy/coordinator/x/../${directory}`,
      `/proxy/coordinator/%73vc-internal/v1/security/directory`,
      `/proxy/coordinator/svc%2Dinternal/v1/security/directory`,
      `/proxy/coordinator/svc-internal%2Fv1/security/directory`,
      `/proxy/coordinator/SVC-INTERNAL/v1/security/directory`,
      `/proxy/coordinator/;/${directory}`,
      `/proxy/coordinator/%2f${directory}`,
      `/proxy/overlord/${directory}`,
      `/SVC/coordinator/v1/rules`,
      '*',
      '',
    ]
    for (const requestTarget of targets) {
      const answer = await request(`GET ${requestTarget}`)
      assertNotMisrouted(answer, requestTarget)
      const isRefused = answer.status === undefined || (answer.status >= 400 && answer.status < 500)
      assert.ok(isRefused, `${requestTarget}: ${answer.text.slice(0, 300)}`)
    }
  })

  test('rejects other methods that would open a tunnel', async () => {
    for (const line of [`CONNECT ${target}`, `CONNECT /proxy/coordinator`, `TRACE ${rules}`, `PRI *`]) {
      const answer = await request(line)
      assertNotMisrouted(answer, line)
      assert.ok(answer.status === undefined || answer.status >= 400, `${line}: ${answer.text}`)
    }
  })

  test('ignores headers that name another host', async () => {
    const headers = [
      `Host: ${target}\r\n`,
      `Host: ${target}\r\nX-Forwarded-Host: ${target}\r\n`,
      `X-Forwarded-Host: ${target}\r\nX-Forwarded-Port: 1\r\nX-Forwarded-Proto: http\r\n`,
      `Forwarded: host="${target}";proto=http\r\n`,
      `X-Original-URL: http://${target}/\r\nX-Rewrite-URL: /${directory}\r\n`,
      `X-Forwarded-Prefix: http://${target}\r\n`,
      `Destination: http://${target}/\r\n`,
      `Upgrade: websocket\r\nSec-WebSocket-Key: dGVzdA==\r\nSec-WebSocket-Version: 13\r\n`,
      `Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n`,
      `Proxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\n`,
      `Expect: 100-continue\r\n`,
    ]
    for (const header of headers) {
      const answer = await request(`GET ${rules}`, header)
      assertNotMisrouted(answer, header)
      const isForwarded = answer.text.includes('_default')
      const isRefused = answer.status !== undefined && answer.status >= 400 && answer.status < 500
      assert.ok(isForwarded || isRefused, `${header}: ${answer.text.slice(0, 300)}`)
    }
  })

  test('rejects random mixtures of such pieces', async (context) => {
    const pieces = fc.constantFrom(
      ...[
        '/',
        '//',
        '\\',
        '.',
        '..',
        '%2e',
        '%2E%2e',
        '%2f',
        '%5c',
        '@',
        ':',
        ':80',
        ';',
        '?',
        '#',
        '%00',
        '%0d%0a',
      ],
      ...[
        'http:',
        'https://',
        'proxy',
        '/proxy/coordinator',
        '/proxy/overlord',
        'coordinator',
        '/svc/coordinator',
      ],
      ...['svc-internal', `/${directory}`, '%73vc-internal', 'v1', '/svc/v2', '/svc/broker', 'x', 'TARGET'],
    )
    const seed = Number(process.env.SVC_TEST_SEED ?? Date.now() % 2 ** 31)
    context.diagnostic(`SVC_TEST_SEED=${seed}`)
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { minLength: 1, maxLength: 8 }), async (parts) => {
        const requestTarget = parts.join('').replaceAll('TARGET', target)
        assertNotMisrouted(await request(`GET ${requestTarget}`), requestTarget)
      }),
      { seed, numRuns: 300 },
    )
  })
})

describe('TLS', () => {
  test('servers accept TLS connections only, and only with a certificate of the authority', async () => {
    for (const { instance, tlsPort } of cluster.plan.services) {
      const { status, text } = await sendRaw(
        `http://127.0.0.1:${tlsPort}`,
        'GET /status/health HTTP/1.1\r\nHost: x\r\n\r\n',
      )
      assert.ok(status === undefined || status === 400, `${instance}: ${text}`)
      const anonymous = createHttpClient(cluster.urls[instance]!)
      await assert.rejects(anonymous.send({ path: '/status/health' }), /certificate/i, instance)
      await anonymous.close()
    }
  })
})
