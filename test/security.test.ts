// Access control on a cluster with the sample directory: directory users get access by their groups, password
// guesses are limited, password changes apply everywhere before the response, administrators cannot be locked
// out, and everything is audited. SVC_TEST_LOGINS is the number of logins of the audit test: 10,000 for figures.

import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { sql } from '@svc/shared/postgres'
import { createHttpClient, waitUntil } from '@svc/shared/testing'
import { assertError } from './support/error-answer.ts'
import { runSvc } from './support/svc-command.ts'
import { startTestCluster } from './support/test-cluster.ts'

const base = '/svc-ext/basic-security'
const authentication = `${base}/authentication/db/MyBasicMetadataAuthenticator`
const authorization = `${base}/authorization/db/MyBasicMetadataAuthorizer`

const cluster = await startTestCluster({ profile: 'secure', ldap: true })
after(() => cluster.end())
const coordinator = cluster.at('coordinator')
const servers = cluster.plan.services.map(({ instance }) => cluster.at(instance))

const loginCount = Number(process.env.SVC_TEST_LOGINS ?? 1000)

const alice = 'alice:alice-password'
const carol = 'carol:carol-password'

/** The status of a path that requires no permission: 404 means that the login was accepted. */
const login = async (client: typeof coordinator, credentials: string) =>
  (await client.send({ path: '/nosuch', credentials })).status

interface Audit {
  readonly entries: readonly {
    readonly id: number
    readonly kind: string
    readonly key: string
    readonly identity: string
    readonly address: string
    readonly details: Readonly<Record<string, unknown>>
  }[]
  readonly before: number | null
}
const auditOf = (query: string) => coordinator.get<Audit>(`${base}/audit?${query}`)

async function addUser(name: string, password: string): Promise<void> {
  await coordinator.post(`${authentication}/users/${name}`, undefined)
  await coordinator.post(`${authentication}/users/${name}/credentials`, { password })
  await coordinator.post(`${authorization}/users/${name}`, undefined)
}

test('the directory and the entire cluster are ready', async () => {
  const { status, stdout } = await runSvc('status', '--home', cluster.home.root)
  assert.equal(status, 0, stdout)
  assert.match(stdout, /directory .* ready/)
})

describe('users of the sample directory', () => {
  test('log in on every server; the administrators group has all permissions, others have the granted ones', async () => {
    for (const server of servers) {
      assert.equal(await login(server, alice), 404, server.url)
      assert.equal(await login(server, carol), 404, server.url)
      assert.equal(await login(server, 'alice:wrong'), 401, server.url)
    }
    const status = await coordinator.send({ path: '/status', credentials: alice })
    assert.equal(status.status, 200, status.text)
    assertError(await coordinator.send({ path: '/status', credentials: carol }), 403)
    const users = await coordinator.send({ path: `${authorization}/users`, credentials: alice })
    assert.equal(users.status, 200, users.text)
  })

  test('get the roles of mappings within a second on all servers', async () => {
    await coordinator.post(`${authorization}/roles/analyst`, undefined)
    await coordinator.post(`${authorization}/roles/analyst/permissions`, [
      { resource: { type: 'STATE', name: 'STATE' }, action: 'READ' },
    ])
    await coordinator.post(`${authorization}/groupMappings/analysts`, {
      name: 'analysts',
      groupPattern: 'cn=analysts,*',
      roles: ['analyst'],
    })
    for (const server of servers) {
      await waitUntil(
        `bob can read the state of ${server.url}`,
        () => server.send({ path: '/status', credentials: 'bob:bob-password' }),
        ({ status }) => status === 200,
      )
    }
  })
})

describe('explain', () => {
  const explain = async (query: string) =>
    (await coordinator.get(`${authorization}/explain?${query}`)) as {
      readonly allowed: boolean
      readonly because: string
      readonly roles: readonly { readonly role: string; readonly from: readonly string[] }[]
    }

  test('returns the role that grants a permission, and the missing permission', async () => {
    const path = encodeURIComponent('/svc/coordinator/v1/rules/wikipedia')
    const admin = await explain(`user=admin&method=POST&path=${path}`)
    assert.equal(admin.allowed, true)
    assert.match(admin.because, /\[WRITE\] on \[DATASOURCE\] \[wikipedia\]/)
    assert.deepEqual(admin.roles[0], { role: 'admin', from: ['user'], exists: true })
    const nobody = await explain(`user=nobody&path=${path}`)
    assert.equal(nobody.allowed, false)
    const group = encodeURIComponent('cn=analysts,ou=groups,dc=example,dc=org')
    const byGroup = await explain(`user=bob&path=%2Fstatus&group=${group}`)
    assert.equal(byGroup.allowed, true)
    assert.deepEqual(byGroup.roles, [{ role: 'analyst', from: ['group mapping [analysts]'], exists: true }])
    for (const user of ['alice', 'Alice', 'bob']) {
      const looked = await explain(`user=${user}&path=%2Fstatus`)
      assert.equal(looked.allowed, true, `the group lookup of ${user}: ${looked.because}`)
      assert.equal(looked.roles[0]?.from[0]?.startsWith('group mapping'), true)
    }
    const carolToo = await explain('user=carol&path=%2Fstatus')
    assert.equal(carolToo.allowed, false)
    const spelled = await explain('user=SVC_SYSTEM&path=%2Fstatus')
    assert.equal(spelled.allowed, false)
    const tasks = await explain(`user=admin&path=${encodeURIComponent('/svc/indexer/v1/tasks')}`)
    assert.equal(tasks.allowed, true, 'endpoints of other servers are unknown')
    const unknown = await coordinator.send({ path: `${authorization}/explain?user=admin&path=%2Fnosuch` })
    assertError(unknown, 404)
  })

  test('is also a command, whose exit status is the verdict', async () => {
    const explain = (...args: string[]) => runSvc('auth', 'explain', ...args, '--home', cluster.home.root)
    const path = '/svc/coordinator/v1/rules/wikipedia'
    const admin = await explain('admin', path, '--method', 'POST')
    assert.equal(admin.status, 0, admin.stderr)
    assert.match(
      admin.stdout,
      /^Allowed: POST .* as admin\nOne of the user's roles grants \[WRITE\] on \[DATASOURCE\]/,
    )
    assert.match(admin.stdout, /admin +WRITE DATASOURCE \.\* +yes/)
    const ofDirectory = await explain('alice', path)
    assert.equal(ofDirectory.status, 0, ofDirectory.stdout)
    const nobody = await explain('nobody', path)
    assert.equal(nobody.status, 4, nobody.stderr)
    assert.match(nobody.stdout, /^Denied: /)
    const group = 'cn=analysts,ou=groups,dc=example,dc=org'
    const byGroup = await explain('bob', '/status', '--group', group, '--json')
    assert.equal(byGroup.status, 0, byGroup.stderr)
    assert.deepEqual(JSON.parse(byGroup.stdout).roles[0].from, ['group mapping [analysts]'])
    const unknown = await explain('admin', '/nosuch')
    assert.equal(unknown.status, 2)
    assert.match(unknown.stderr, /Unknown endpoint \[GET \/nosuch\]/)
  })
})

describe('the explanation of a refused request', () => {
  const router = cluster.router
  const refusedId = async (client: typeof coordinator, credentials: string) => {
    const { status, headers, text } = await client.send({ path: '/status', credentials })
    assert.ok(status === 401 || status === 403, text)
    return { id: String(headers['x-request-id']), text }
  }
  const explainRequest = (id: string, ...args: string[]) =>
    runSvc('auth', 'explain', '--request', id, ...args, '--home', cluster.home.root)

  test('begins with the recorded reason, and exits with 4 even if the request would be allowed now', async () => {
    const { id, text } = await refusedId(router, 'alice:not-her-password')
    assert.doesNotMatch(text, /WRONG_PASSWORD|sampleDirectory/)
    const explained = await explainRequest(id)
    assert.equal(explained.status, 4, explained.stderr)
    assert.match(
      explained.stdout,
      /^Refused: request .* to router .*\nGET \/status: status 401, .*\n\nReason: WRONG_PASSWORD\nThe directory of authenticator \[sampleDirectory\] found \[alice\] but rejected the password\.\n\nDirectory at that time:\n1\. Bind .*: accepted\n2\. Search for the user .*\n3\. Check the password: .*: failed: Invalid credentials\n\nNow: \[alice\] may make such a request with the correct password\.\n\nAllowed: /,
    )
    const { refused, explanation } = JSON.parse((await explainRequest(id, '--json')).stdout)
    assert.deepEqual([refused.reason, refused.id, explanation.allowed], ['WRONG_PASSWORD', id, true])
    assert.doesNotMatch(explained.stdout, /not-her-password|alice-password/)
  })

  test('names the authenticators that do not know the user, and the missing permission', async () => {
    const unknown = await explainRequest((await refusedId(router, 'dora:some-password')).id)
    assert.equal(unknown.status, 4, unknown.stderr)
    assert.match(
      unknown.stdout,
      /\nReason: UNKNOWN_USER\nAuthenticator \[MyBasicMetadataAuthenticator\] stores no password for \[dora\], and the directory of authenticator \[sampleDirectory\] has no entry for \[dora\]\./,
    )
    const forbidden = await explainRequest((await refusedId(coordinator, carol)).id)
    assert.equal(forbidden.status, 4, forbidden.stderr)
    assert.match(forbidden.stdout, /\nReason: FORBIDDEN\nMissing permission \[READ\] on \[STATE\]\./)
    assert.match(forbidden.stdout, /\nNow: the cluster would refuse such a request again\./)
  })

  test('is in the audit log with the ID of the request, for administrators only', async () => {
    const { id } = await refusedId(coordinator, 'audited-guess:some-password')
    const { entries } = await waitUntil(
      'the failed login is in the audit log',
      () => auditOf('kind=loginFailure&key=audited-guess'),
      (audit) => audit.entries.length > 0,
    )
    const { requestId, reason, because } = entries[0]!.details
    assert.deepEqual([requestId, reason], [id, 'UNKNOWN_USER'])
    assert.match(String(because), /has no entry for \[audited-guess\]$/)
    for (const path of [
      `${base}/audit`,
      `/svc/internal/v1/refusedRequests?id=${id}`,
      '/svc/internal/v1/refusedHandshakes',
    ])
      assertError(await coordinator.send({ path, credentials: carol }), 403)
  })
})

describe('a refused caller', () => {
  test('gets the same answer for an unknown user and a wrong password on every server', async () => {
    const failureOf = async (client: typeof coordinator, credentials: string) => {
      const { status, headers, text } = await client.send({ path: '/status', credentials })
      const { date: _, 'x-request-id': __, ...others } = headers
      return { status, headers: others, text }
    }
    for (const server of servers) {
      const unknown = await failureOf(server, 'nobody-at-all:some-password')
      assert.equal(unknown.status, 401, server.url)
      assert.deepEqual(unknown, await failureOf(server, 'admin:not-the-password'), server.url)
      assert.deepEqual(unknown, await failureOf(server, 'carol:not-the-password'), server.url)
    }
  })
})

describe('passwords', () => {
  test('apply on every server once a change is acknowledged, and the old ones are rejected', async () => {
    await addUser('peter', 'password-0')
    for (let change = 1; change <= 2; change++) {
      const [before, now] = [`peter:password-${change - 1}`, `peter:password-${change}`]
      // Verify them everywhere first, so that the old password is cached.
      const known = await Promise.all(servers.map((server) => login(server, before)))
      assert.deepEqual(
        known,
        servers.map(() => 404),
      )
      await coordinator.post(`${authentication}/users/peter/credentials`, {
        password: `password-${change}`,
      })
      // All at once, so that servers try their cache first.
      const dropped = await Promise.all(servers.map((server) => login(server, before)))
      assert.deepEqual(
        dropped,
        servers.map(() => 401),
      )
      for (const server of servers) assert.equal(await login(server, now), 404, server.url)
    }
  })

  test('of a removed user, and revoked roles, are rejected everywhere once the change is acknowledged', async () => {
    await addUser('quinn', 'quinn-password')
    await coordinator.post(`${authorization}/users/quinn/roles/admin`, undefined)
    const credentials = 'quinn:quinn-password'
    const read = async () =>
      await Promise.all(servers.map((server) => server.send({ path: '/status', credentials })))
    for (const { status, text } of await read()) assert.equal(status, 200, text)
    const change = (path: string) => coordinator.send({ method: 'DELETE', path })
    assert.equal((await change(`${authorization}/users/quinn/roles/admin`)).status, 200)
    for (const answer of await read()) assertError(answer, 403)
    assert.equal((await change(`${authentication}/users/quinn`)).status, 200)
    for (const answer of await read()) assertError(answer, 401)
  })

  test('of the maximum length are accepted', async () => {
    const password = '€'.repeat(1024)
    await coordinator.post(`${authentication}/users/peter/credentials`, { password })
    assert.equal(await login(coordinator, `peter:${password}`), 404)
  })

  test('cannot be sent for usernames with a colon, so such users cannot be created', async () => {
    const refused = await coordinator.send({ method: 'POST', path: `${authentication}/users/a%3Ab` })
    assertError(refused, 400)
  })

  test('that are too short are refused', async () => {
    const short = {
      method: 'POST',
      path: `${authentication}/users/peter/credentials`,
      json: { password: 'seven77' },
    }
    assertError(await coordinator.send(short), 400)
  })

  test('that were hashed with other parameters are rehashed at the next login', async () => {
    await addUser('olga', 'olga-password')
    const weak = { algorithm: 'scrypt', cost: 2, blockSize: 1, parallelization: 1 }
    const { scryptSync } = await import('node:crypto')
    const hash = scryptSync('olga-password', Buffer.alloc(16), 32, { N: 2, r: 1, p: 1 }).toString('base64')
    const stored = { ...weak, salt: Buffer.alloc(16).toString('base64'), hash }
    await cluster.store.query(sql`
      UPDATE authentication_users SET credentials = ${JSON.stringify(stored)} WHERE name = 'olga'`)
    await cluster.store.query(sql`UPDATE security_version SET version = version + 1`)
    await cluster.store.query(sql`SELECT pg_notify('svc_security', '')`)
    await waitUntil(
      'the hash has the current parameters',
      async () => {
        await login(cluster.router, 'olga:olga-password')
        const [row] = await cluster.store.query<{ credentials: { cost: number } }>(
          sql`SELECT credentials FROM authentication_users WHERE name = 'olga'`,
        )
        return row?.credentials.cost ?? 0
      },
      (cost) => cost > 1000,
    )
    assert.equal(await login(coordinator, 'olga:olga-password'), 404)
  })

  test('are compared completely, and must not contain control characters', async () => {
    await addUser('nina', 'nina-password')
    const basic = (...parts: (string | Buffer)[]) => ({
      Authorization: `Basic ${Buffer.concat(parts.map((part) => Buffer.from(part))).toString('base64')}`,
    })
    const almost = [
      basic('nina:nina-password\0'),
      basic('nina:nina-password', Buffer.alloc(51)),
      basic('nina:nina-password', Buffer.from([0xff])),
      basic('nina\0:nina-password'),
      basic('svc_system:', cluster.adminPassword ?? '', '\0'),
    ]
    for (const server of servers) {
      for (const headers of almost) {
        const answer = await server.send({ path: '/nosuch', credentials: null, headers })
        assert.equal(answer.status, 401, `${server.url} ${headers.Authorization}`)
      }
      assert.equal(await login(server, 'nina:nina-password'), 404, server.url)
    }
    for (const password of ['\0'.repeat(8), 'hunter22\0', 'hunter\t22', 'hunter22\u0085', 'hunter22\ud83d']) {
      const path = `${authentication}/users/nina/credentials`
      const answer = await coordinator.send({ method: 'POST', path, json: { password } })
      assertError(answer, 400)
      assert.ok(!answer.text.includes('hunter'), answer.text)
    }
    assert.equal(await login(coordinator, 'nina:nina-password'), 404)
  })

  test('cannot be guessed quickly: after 20 failures, all servers together verify one login every five seconds', async () => {
    await addUser('victim', 'victim-password')
    for (let guess = 0; guess < 20; guess++) {
      assert.equal(await login(coordinator, `victim:guess-${guess}`), 401, `guess ${guess}`)
    }
    const held = await coordinator.send({ path: '/nosuch', credentials: 'victim:guess-20' })
    assertError(held, 429)
    assert.ok(Number(held.headers['retry-after']) <= 5, String(held.headers['retry-after']))
    const historical = cluster.at('historical-1')
    assert.equal(await login(historical, 'victim:victim-password'), 429, 'failures are not counted together')
    assert.equal(await login(coordinator, 'admin:wrong'), 401, 'other users are throttled')
    const startedAt = performance.now()
    await waitUntil(
      'the owner can log in from the same address',
      () => login(historical, 'victim:victim-password'),
      (status) => status === 404,
    )
    assert.ok(performance.now() - startedAt < 10_000)
    for (const server of servers) assert.equal(await login(server, 'victim:victim-password'), 404, server.url)
    for (let guess = 0; guess < 21; guess++) {
      const status = await login(coordinator, `ghost:guess-${guess}`)
      assert.equal(status, guess < 20 ? 401 : 429, 'unknown users get a different answer')
    }
  })
})

describe('while an attacker guesses a password', () => {
  const from = (localAddress: string, url: string) => {
    const client = createHttpClient(url, { trusted: cluster.trusted, localAddress })
    after(() => client.close())
    return client
  }
  const routerUrl = cluster.router.url
  /** A coordinator path, through the router, that requires no permission. */
  const throughRouter = async (client: typeof coordinator, credentials: string) =>
    (await client.send({ path: '/proxy/coordinator/nosuch', credentials })).status

  test("the owner can log in through the router from the router's own address", async () => {
    await addUser('target', 'target-password')
    for (let guess = 0; guess < 20; guess++)
      assert.equal(await login(coordinator, `target:guess-${guess}`), 401)
    assert.equal(await login(coordinator, 'target:guess'), 429)
    const owner = from('127.0.0.21', routerUrl)
    assert.equal(await throughRouter(owner, 'target:target-password'), 404)
  })

  test('the owner can log in through the router from another address, and guesses are verified at a limited rate', async () => {
    await addUser('bounded', 'bounded-password')
    const attackers = Array.from({ length: 4 }, () => from('127.0.0.66', routerUrl))
    let verified = 0
    let isOver = false
    const startedAt = performance.now()
    const attack = attackers.map(async (attacker, index) => {
      for (let guess = 0; !isOver; guess++) {
        const status = await throughRouter(attacker, `bounded:guess-${index}-${guess}`)
        if (status === 401) verified += 1
        else assert.equal(status, 429)
      }
    })
    await waitUntil(
      'the attack is throttled',
      () => verified,
      (count) => count >= 20,
    )
    const owner = from('127.0.0.22', routerUrl)
    assert.equal(await throughRouter(owner, 'bounded:bounded-password'), 404)
    // The owner returns to the attacker's address with the right password, and is accepted before new guesses.
    const neighbor = from('127.0.0.66', routerUrl)
    const backAt = performance.now()
    await waitUntil(
      "the owner can log in from the attacker's address",
      () => throughRouter(neighbor, 'bounded:bounded-password'),
      (status) => status === 404,
      { pollMs: 1000 },
    )
    assert.ok(performance.now() - backAt < 15_000, `${performance.now() - backAt} ms`)
    const durationMs = performance.now() - startedAt
    isOver = true
    await Promise.all(attack)
    // The owner's success resets the failures of this address, so another 20 may follow.
    assert.ok(verified <= 40 + 1 + durationMs / 5000, `${verified} in ${durationMs} ms`)
  })

  test('addresses that the caller claims have no effect on any server', async () => {
    for (const instance of ['coordinator', 'historical-1', 'router']) {
      const user = `forged-at-${instance}`
      const attacker = from('127.0.0.77', cluster.at(instance).url)
      for (let guess = 0; guess < 21; guess++) {
        const claimed = `127.0.1.${guess}`
        const { status } = await attacker.send({
          path: '/nosuch',
          credentials: `${user}:guess-${guess}`,
          headers: {
            'X-Forwarded-For': claimed,
            'X-Svc-Caller-Address': `${'s'.repeat(12)} ${guess + 1} ${Date.now()} ${claimed} ${'t'.repeat(43)}`,
          },
        })
        assert.equal(status, guess < 20 ? 401 : 429, `guess ${guess} at ${instance}`)
      }
      await waitUntil(
        'the audit log has the guesses with their real address',
        () => auditOf(`kind=loginFailure&key=${user}&address=127.0.0.77`),
        ({ entries }) => entries.length > 0,
      )
    }
  })

  test('the audit log has the real address of guesses, including refused ones, and of changes through the router', async () => {
    const failures = await auditOf('kind=loginFailure&key=bounded&address=127.0.0.66')
    assert.ok(failures.entries.length > 0)
    const administrator = createHttpClient(routerUrl, {
      trusted: cluster.trusted,
      credentials: `admin:${cluster.adminPassword}`,
      localAddress: '127.0.0.23',
    })
    after(() => administrator.close())
    await administrator.post(`/proxy/coordinator${authorization}/roles/through-router`, undefined)
    const changes = await auditOf('kind=change&address=127.0.0.23')
    assert.ok(changes.entries.some(({ key }) => key.endsWith('/roles/through-router')))
  })
})

describe('administrators', () => {
  const change = (method: string, path: string, json?: unknown) => coordinator.send({ method, path, json })

  test('cannot be locked out: the last one cannot be removed, and the internal user keeps its permissions', async () => {
    // A group of administrators in the directory may be empty or become empty.
    assertError(await change('DELETE', `${authentication}/users/admin`), 409)
    assert.equal((await change('DELETE', `${authorization}/groupMappings/adminGroupMapping`)).status, 200)
    assertError(await change('DELETE', `${authentication}/users/admin`), 409)
    assertError(await change('DELETE', `${authorization}/users/admin`), 409)
    assertError(await change('DELETE', `${authorization}/users/admin/roles/admin`), 409)
    assertError(await change('DELETE', `${authorization}/roles/admin`), 409)
    assertError(await change('POST', `${authorization}/roles/admin/permissions`, []), 409)
    assertError(await change('POST', `${authorization}/roles/svc_system/permissions`, []), 409)
    assertError(await change('DELETE', `${authorization}/users/svc_system`), 409)
    assertError(await change('DELETE', `${authentication}/users/svc_system`), 409)
  })

  test('are not all users who can write any configuration', async () => {
    await addUser('tuner', 'tuner-password')
    await change('POST', `${authorization}/roles/tuner`)
    await coordinator.post(`${authorization}/roles/tuner/permissions`, [
      { resource: { type: 'CONFIG', name: '.*' }, action: 'WRITE' },
    ])
    await change('POST', `${authorization}/users/tuner/roles/tuner`)
    const credentials = 'tuner:tuner-password'
    const path = `${authorization}/users/tuner/roles/admin`
    assertError(await coordinator.send({ method: 'POST', path, credentials }), 403)
    const tuned = await coordinator.send({
      method: 'POST',
      path: '/svc/coordinator/v1/config',
      json: {},
      credentials,
    })
    assert.equal(tuned.status, 200, tuned.text)
  })
})

describe('names with control characters', () => {
  const named = (field: string, value: unknown) => ({ [field]: value })
  const permission = (name: string) => [{ resource: { type: 'DATASOURCE', name }, action: 'READ' }]
  const rule = (tier: string) => [{ type: 'loadForever', tieredReplicants: named(tier, 1) }]
  const rows: readonly [method: string, path: string, json?: unknown][] = [
    ['POST', `${authentication}/users/a%00b`],
    ['POST', `${authorization}/users/a%0ab`],
    ['POST', `${authorization}/roles/a%C2%85b`],
    ['POST', `${authorization}/users/admin/roles/a%7fb`],
    ['POST', `${authorization}/roles/admin/permissions`, permission('a\0b')],
    ['POST', `${authorization}/groupMappings/a%00b`, { groupPattern: '*' }],
    ['POST', `${authorization}/groupMappings/control`, { groupPattern: 'cn=a\0b,*' }],
    ['POST', `${authorization}/groupMappings/control`, { groupPattern: '*', roles: ['a\0b'] }],
    ['GET', `${base}/authentication/db/My%00/users`],
    ['GET', `${base}/authorization/db/My%00/users`],
    ['GET', `${base}/audit?key=a%00`],
    ['POST', '/svc/coordinator/v1/rules/wikipedia', rule('hot\0')],
    ['POST', '/svc/coordinator/v1/rules/wikipedia', rule('hot\ud83d')],
    ['POST', '/svc/coordinator/v1/config', { decommissioningNodes: ['a\0'] }],
    ['POST', '/svc/coordinator/v1/config', { cloneServers: { 'a\u0085': 'b' } }],
    ['GET', '/svc/coordinator/v1/tiers/a%00'],
    ['GET', '/svc/coordinator/v1/servers/a%00'],
  ]
  for (const [method, path, json] of rows) {
    test(`are rejected: ${method} ${path} ${json === undefined ? '' : JSON.stringify(json)}`, async () => {
      const answer = await coordinator.send({ method, path, ...(json === undefined ? {} : { json }) })
      assertError(answer, 400)
    })
  }
})

describe('the audit log', () => {
  test('has every rejected guess with the name of its user, among logins meant to hide it', async () => {
    const victims = Array.from({ length: 6 }, (_, index) => `target-${index}`)
    for (const victim of victims) await addUser(victim, 'target-password')
    const sent = victims.flatMap((victim, index) => [
      `${victim}:wrong`,
      `${index}\0hidden:wrong`,
      `${victim}\0:wrong`,
      `\u0085${'x'.repeat(250)}🐨:wrong`,
      `stranger-${index}:wrong`,
      `${victim}:target-password`,
    ])
    // At most as many at a time as one server can verify before clients time out.
    const atOnce = 6
    for (let start = 0; start < sent.length; start += atOnce) {
      const some = sent.slice(start, start + atOnce)
      assert.deepEqual(
        await Promise.all(some.map((credentials) => login(coordinator, credentials))),
        some.map((one) => (one.endsWith(':target-password') ? 404 : 401)),
      )
    }
    const elsewhere = createHttpClient(coordinator.url, {
      trusted: cluster.trusted,
      localAddress: '127.0.0.8',
    })
    after(() => elsewhere.close())
    for (const victim of victims)
      assert.equal(await login(elsewhere, `${victim}:target-password\0`), 401, victim)
    for (const victim of victims) {
      await waitUntil(
        `both guesses at ${victim} are logged`,
        () => auditOf(`kind=loginFailure&key=${victim}`),
        ({ entries }) =>
          entries
            .map(({ address, details }) => `${address} ${details.count}`)
            .sort()
            .join() === '127.0.0.1 1,127.0.0.8 1',
      )
    }
    const hidden = await auditOf(`kind=loginFailure&key=${encodeURIComponent('3\\u0000hidden')}`)
    assert.deepEqual(
      hidden.entries.map(({ address, details }) => [address, details.escaped]),
      [['127.0.0.1', true]],
    )
    // Nobody has guessed at bob before: repeated guesses are only counted, and stored once a minute.
    assert.equal(await login(coordinator, 'BOB:wrong'), 401)
    await waitUntil(
      'the guess at a directory user has the name from the directory',
      () => auditOf('kind=loginFailure&key=bob'),
      ({ entries }) => entries.some(({ details }) => details.typed === 'BOB'),
    )
  })

  test(`has every rejected guess among about ${loginCount} logins from 10 addresses`, async (context) => {
    const victims = Array.from({ length: 8 }, (_, index) => `wanted-${index}`)
    for (const victim of victims) await addUser(victim, 'wanted-password')
    const addresses = Array.from({ length: 10 }, (_, index) => `127.0.0.${100 + index}`)
    const clients = addresses.map((localAddress) =>
      createHttpClient(coordinator.url, { trusted: cluster.trusted, localAddress }),
    )
    after(() => {
      for (const client of clients) client.close()
    })
    const guesses = addresses.flatMap((_, from) =>
      victims.map((victim) => ({ from, credentials: `${victim}:wrong`, status: 401 })),
    )
    const others = Array.from({ length: loginCount - guesses.length }, (_, index) => {
      const from = index % addresses.length
      const victim = victims[index % victims.length]
      const hidden = { from, credentials: `${victim}\0${index}:wrong`, status: 401 }
      const stranger = { from, credentials: `stranger-${index}:wrong`, status: 401 }
      return [hidden, stranger, { from, credentials: `${victim}:wanted-password`, status: 404 }][index % 3]!
    })
    const apart = Math.floor(others.length / guesses.length)
    const sent = guesses.flatMap((guess, index) => [
      guess,
      ...others.slice(index * apart, (index + 1) * apart),
    ])
    const startedAt = performance.now()
    const waiting = sent.values()
    const sendNext = async (): Promise<void> => {
      for (const { from, credentials, status } of waiting)
        assert.equal(await login(clients[from]!, credentials), status, credentials)
    }
    await Promise.all(Array.from({ length: 16 }, sendNext))
    context.diagnostic(`${sent.length} logins in ${Math.round(performance.now() - startedAt)} ms`)
    for (const victim of victims)
      await waitUntil(
        `the guesses at ${victim} are logged`,
        () => auditOf(`kind=loginFailure&key=${victim}&count=1000`),
        ({ entries }) =>
          entries
            .map(({ address, details }) => `${address} ${details.count}`)
            .sort()
            .join() === addresses.map((address) => `${address} 1`).join(),
      )
  })

  test('has changes, refused logins, missing permissions, and administrators, with filters and pages', async () => {
    const changes = await auditOf('kind=change&count=1000')
    assert.ok(
      changes.entries.some(({ key, identity }) => key.endsWith('/users/tuner') && identity === 'admin'),
    )
    assert.ok(!JSON.stringify(changes).includes('password"'), 'a password was logged')
    const failures = await waitUntil(
      'the refused logins are logged',
      () => auditOf('kind=loginFailure&key=victim'),
      ({ entries }) => entries.length > 0,
    )
    assert.equal(failures.entries[0]?.address, '127.0.0.1')
    await waitUntil(
      'the missing permission is logged',
      () => auditOf('kind=forbidden&identity=tuner'),
      ({ entries }) => entries.length > 0,
    )
    await waitUntil(
      'the administrator is logged',
      () => auditOf('kind=login&identity=alice'),
      ({ entries }) => entries.length > 0,
    )
    const elsewhere = createHttpClient(coordinator.url, {
      trusted: cluster.trusted,
      credentials: `admin:${cluster.adminPassword}`,
      localAddress: '127.0.0.9',
    })
    after(() => elsewhere.close())
    assert.equal((await elsewhere.get<string[]>(`${authorization}/users`)).includes('admin'), true)
    await waitUntil(
      'the administrator with a cached login is logged with the other address',
      () => auditOf('kind=login&identity=admin&address=127.0.0.9'),
      ({ entries }) => entries.length > 0,
    )
    const first = await auditOf('count=2')
    assert.equal(first.entries.length, 2)
    const second = await auditOf(`count=2&before=${first.before}`)
    assert.ok(second.entries[0]!.id < first.entries[1]!.id)
    assertError(await coordinator.send({ path: `${base}/audit?kind=nosuch` }), 400)
    assertError(await coordinator.send({ path: `${base}/audit`, credentials: carol }), 403)
  })
})
