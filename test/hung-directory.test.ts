// A directory that hangs, or answers nonsense, causes a 503 within five seconds for its own logins, and affects
// nobody else. TCP servers that stop answering at each step of a login take its place.

import assert from 'node:assert/strict'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, describe, test } from 'node:test'
import { sampleDirectory, startDirectory } from '@svc/cli/ldap'
import { loadSettings } from '@svc/shared/config'
import {
  basicHeader,
  createSecurity,
  hashPassword,
  LdapTrace,
  openLdapLogins,
  type UsersAndRoles,
} from '@svc/shared/security'
import { waitUntil } from '@svc/shared/testing'
import { createCertificate } from './support/slapd.ts'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'

const folder = newTestFolder()
after(() => removeTestFolder(folder))
const trusted = await createCertificate(folder, 'directory', 'IP:127.0.0.1')
const directory = await startDirectory(sampleDirectory('search-secret'), 0)
after(() => directory.stop())

/** How a server handles a connection; `received` is called with each chunk that arrives. */
type Behavior = (socket: Socket) => void

/** A successful bind response to the message that a chunk begins with. */
const bindSucceeded = (request: Buffer) =>
  Buffer.from([0x30, 0x0c, 0x02, 0x01, request[4]!, 0x61, 0x07, 0x0a, 0x01, 0x00, 0x04, 0x00, 0x04, 0x00])

const behaviors: Readonly<Record<string, Behavior>> = {
  'accepts connections and never answers': () => undefined,
  'answers the bind but not the search': (socket) =>
    socket.on('data', (request: Buffer) => {
      // A bind is operation 0x60.
      if (request[5] === 0x60) socket.write(bindSucceeded(request))
    }),
  'sends its answer byte by byte': (socket) =>
    socket.on('data', (request: Buffer) => {
      const answer = bindSucceeded(request)
      let sent = 0
      const timer = setInterval(() => {
        if (sent < answer.length - 1) socket.write(answer.subarray(sent, ++sent))
      }, 300)
      socket.once('close', () => clearInterval(timer))
    }),
  'answers text': (socket) => socket.on('data', () => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')),
  'answers zeros': (socket) => socket.on('data', () => socket.write(Buffer.alloc(100_000))),
  'answers an endless message': (socket) =>
    socket.on('data', () => socket.write(Buffer.from([0x30, 0x84, 0x7f, 0xff, 0xff, 0xff, 0x02]))),
  'answers many empty messages': (socket) =>
    socket.on('data', () => socket.write(Buffer.from('3000'.repeat(30_000), 'hex'))),
  'closes each connection': (socket) => socket.destroy(),
  'closes each connection after a request': (socket) => socket.on('data', () => socket.end()),
}

/** A server whose behavior can be replaced; it counts its open connections. */
async function startServer(first: Behavior, port = 0) {
  const open = new Set<Socket>()
  let behavior = first
  let maxOpen = 0
  let connections = 0
  const server = createServer((socket) => {
    open.add(socket)
    connections += 1
    maxOpen = Math.max(maxOpen, open.size)
    socket.once('close', () => open.delete(socket))
    socket.on('error', () => undefined)
    behavior(socket)
    // A server only notices that a client has closed if it reads.
    socket.resume()
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const stop = async (): Promise<void> => {
    for (const socket of open) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  after(stop)
  return {
    port: (server.address() as AddressInfo).port,
    open: () => open.size,
    maxOpen: () => maxOpen,
    connections: () => connections,
    behave: (next: Behavior) => {
      behavior = next
    },
    stop,
  }
}

/** Forwards data to the sample directory, as a directory that works again. */
const answersAgain: Behavior = (socket) => {
  const upstream = connect(Number(new URL(directory.url).port), '127.0.0.1')
  upstream.on('error', () => socket.destroy())
  socket.once('close', () => upstream.destroy())
  socket.pipe(upstream).pipe(socket)
}

const suffix = 'dc=example,dc=org'
const hash = await hashPassword('metadata-password')
const users: UsersAndRoles = {
  version: 1,
  authenticators: { M: { mia: hash } },
  authorizers: { Z: { users: {}, roles: {}, groupMappings: {} } },
}

/** The id and the operation of an LDAP request that a chunk contains. */
function requestIn(chunk: Buffer) {
  const start = chunk[1]! < 0x80 ? 2 : 2 + (chunk[1]! & 0x7f)
  return { id: chunk[start + 2]!, operation: chunk[start + 3]! }
}

/** A response without content to a request: its tag and result code. */
const resultOf = (id: number, tag: number, code: number) =>
  Buffer.from([0x30, 0x0c, 0x02, 0x01, id, tag, 0x07, 0x0a, 0x01, code, 0x04, 0x00, 0x04, 0x00])

/** Finds every user, is unwilling to check the password of `locked`, and rejects the passwords of others. */
const unwillingForOne: Behavior = (socket) =>
  socket.on('data', (request: Buffer) => {
    const { id, operation } = requestIn(request)
    const [unwilling, invalidCredentials] = [53, 49]
    const isLocked = request.includes('locked')
    if (operation === 0x60) socket.write(resultOf(id, 0x61, isLocked ? unwilling : invalidCredentials))
    if (operation !== 0x63) return
    const dn = Buffer.from(isLocked ? 'uid=locked' : 'uid=other')
    const entry = Buffer.concat([Buffer.from([0x04, dn.length]), dn, Buffer.from([0x30, 0x00])])
    socket.write(Buffer.from([0x30, entry.length + 5, 0x02, 0x01, id, 0x64, entry.length, ...entry]))
    socket.write(resultOf(id, 0x65, 0))
  })

/** Logins with a chain of metadata store M and directory L. */
async function loginsWith(url: string, readTimeout?: string, { searchesAnonymously = false } = {}) {
  const validator = 'svc.auth.authenticator.L.credentialsValidator'
  const properties = {
    'svc.auth.authenticatorChain': '["M","L"]',
    'svc.auth.authenticator.M.type': 'basic',
    'svc.auth.authenticator.M.authorizerName': 'Z',
    'svc.auth.authenticator.M.skipOnFailure': 'true',
    'svc.auth.authenticator.L.type': 'basic',
    'svc.auth.authenticator.L.authorizerName': 'Z',
    [`${validator}.type`]: 'ldap',
    [`${validator}.url`]: url,
    ...(searchesAnonymously
      ? {}
      : {
          [`${validator}.bindUser`]: `cn=search,${suffix}`,
          [`${validator}.bindPassword`]: 'search-secret',
        }),
    [`${validator}.baseDn`]: `ou=users,${suffix}`,
    ...(readTimeout === undefined ? {} : { [`${validator}.readTimeout`]: readTimeout }),
    'svc.auth.basic.ssl.trustStoreType': 'pem',
    ...(url.startsWith('ldaps:') ? { 'svc.auth.basic.ssl.trustStorePath': trusted.certificateFile } : {}),
    'svc.auth.authorizers': '["Z"]',
    'svc.auth.authorizer.Z.type': 'basic',
    'svc.escalator.type': 'basic',
    'svc.escalator.internalClientPassword': 'internal-secret',
  }
  const variables = Object.entries(properties).map(([name, value]) => [name.replaceAll('.', '_'), value])
  const settings = loadSettings('router', [], Object.fromEntries(variables))
  const problems: string[] = []
  const directories = await openLdapLogins(
    settings,
    () => performance.now(),
    (text, details) => problems.push(`${text} ${JSON.stringify(details)}`),
  )
  const security = createSecurity(settings, { current: () => users }, { directories })
  const login = async (user: string, password: string) => {
    const startedAt = performance.now()
    const outcome = await security
      .authenticate(basicHeader(user, password), { address: '192.0.2.7', server: '' })
      .catch((error: { code?: string }) => ({ kind: String(error.code) }))
    const kind = outcome.kind === 'known' && 'caller' in outcome ? outcome.caller.authenticator : outcome.kind
    const failure = 'failure' in outcome ? outcome.failure : undefined
    return { kind, failure, durationMs: performance.now() - startedAt }
  }
  return { login, problems, find: directories.get('L')!.find }
}

const comesBack = async (login: Awaited<ReturnType<typeof loginsWith>>['login']): Promise<number> => {
  const startedAt = performance.now()
  await waitUntil(
    'directory logins work again',
    () => login('alice', 'alice-password'),
    ({ kind }) => kind === 'L',
  )
  return performance.now() - startedAt
}

describe('a directory that', { concurrency: true }, () => {
  for (const [name, behavior] of Object.entries(behaviors)) {
    test(`${name} causes a 503 within five seconds, and logins work again seconds after it recovers`, async () => {
      const server = await startServer(behavior)
      const { login } = await loginsWith(`ldap://127.0.0.1:${server.port}`)
      const first = await login('alice', 'alice-password')
      assert.equal(first.kind, 'unavailable')
      assert.ok(first.durationMs < 5000, `${first.durationMs} ms`)
      await waitUntil(
        'all connections are closed',
        async () => server.open(),
        (open) => open === 0,
      )
      server.behave(answersAgain)
      assert.ok((await comesBack(login)) < 5000)
    })
  }

  test('is unwilling to check the password of one user still checks those of others, even after an anonymous search', async () => {
    const server = await startServer(unwillingForOne)
    const { login } = await loginsWith(`ldap://127.0.0.1:${server.port}`, undefined, {
      searchesAnonymously: true,
    })
    assert.equal((await login('locked', 'password')).kind, 'unavailable')
    assert.equal((await login('other', 'password')).kind, 'refused')
  })

  test('hangs in the TLS handshake causes a 503 within five seconds', async () => {
    const server = await startServer(() => undefined)
    const { login } = await loginsWith(`ldaps://127.0.0.1:${server.port}`)
    const { kind, durationMs } = await login('alice', 'alice-password')
    assert.equal(kind, 'unavailable')
    assert.ok(durationMs < 5000, `${durationMs} ms`)
    await waitUntil(
      'all connections are closed',
      async () => server.open(),
      (open) => open === 0,
    )
  })

  test('refuses connections causes a 503 at once, and logins work once it accepts them', async () => {
    const server = await startServer(() => undefined)
    await server.stop()
    const { login } = await loginsWith(`ldap://127.0.0.1:${server.port}`)
    const { kind, durationMs } = await login('alice', 'alice-password')
    assert.equal(kind, 'unavailable')
    assert.ok(durationMs < 2000, `${durationMs} ms`)
    await startServer(answersAgain, server.port)
    assert.ok((await comesBack(login)) < 5000)
  })

  test('has a hostname that does not exist causes a 503 within five seconds', async () => {
    const { login } = await loginsWith('ldap://directory.invalid:389')
    const { kind, durationMs } = await login('alice', 'alice-password')
    assert.equal(kind, 'unavailable')
    assert.ok(durationMs < 5000, `${durationMs} ms`)
  })
})

describe('while a directory hangs', () => {
  test('a hundred of its logins fail within five seconds, and the next ones at once', async () => {
    const server = await startServer(() => undefined)
    const { login, problems } = await loginsWith(`ldap://127.0.0.1:${server.port}`)
    const flood = Array.from({ length: 100 }, (_, index) => login(`user${index}`, 'password'))
    const refused = await Promise.all(flood)
    for (const { kind, durationMs } of refused) {
      assert.equal(kind, 'unavailable')
      assert.ok(durationMs < 5000, `${durationMs} ms`)
    }
    assert.ok(server.maxOpen() <= 8, `${server.maxOpen()} connections at a time`)
    assert.ok(server.connections() <= 8, `${server.connections()} connections`)
    const next = await Promise.all(Array.from({ length: 20 }, (_, index) => login(`next${index}`, 'x')))
    for (const { kind, durationMs } of next) {
      assert.equal(kind, 'unavailable')
      assert.ok(durationMs < 500, `${durationMs} ms`)
    }
    await waitUntil(
      'all connections are closed',
      async () => server.open(),
      (open) => open === 0,
    )
    assert.ok(problems.length > 0)
  })

  test('logins with a stored password do not wait for it', async () => {
    const server = await startServer(() => undefined)
    // So long that even a busy machine verifies a password in this time.
    const { login } = await loginsWith(`ldap://127.0.0.1:${server.port}`, 'PT1M')
    let failed = 0
    const flood = Array.from({ length: 100 }, async (_, index) => {
      await login(`user${index}`, 'password')
      failed += 1
    })
    const [right, wrong] = await Promise.all([login('mia', 'metadata-password'), login('mia', 'wrong')])
    assert.deepEqual([right.kind, wrong.kind, failed], ['M', 'refused', 0])
    await server.stop()
    await Promise.all(flood)
  })

  test('the failure of a login, and a lookup at the same time, show how far the requests got', async () => {
    const server = await startServer(behaviors['answers the bind but not the search']!)
    const { login, find } = await loginsWith(`ldap://127.0.0.1:${server.port}`, 'PT2S')
    const [url, bindUser] = [`ldap://127.0.0.1:${server.port}`, `cn=search,${suffix}`]
    const bind = { action: 'bind', url, bindUser }
    const search = {
      ...{ action: 'searchUser', url, bindUser, baseDn: `ou=users,${suffix}` },
      filter: '(uid=alice)',
    }
    const { failure } = await login('alice', 'alice-password')
    const late = { ...search, error: 'No response within [2000] ms' }
    assert.equal(failure?.reason, 'DIRECTORY_TIMEOUT')
    assert.deepEqual(failure.directory, [
      { authenticator: 'L', ...bind },
      { authenticator: 'L', ...late },
    ])
    const paused = await login('bob', 'bob-password')
    assert.equal(paused.failure?.reason, 'DIRECTORY_PAUSED')
    assert.deepEqual(paused.failure.directory, [
      { authenticator: 'L', ...bind, isEarlier: true },
      { authenticator: 'L', ...late, isEarlier: true },
    ])
    let trial = new LdapTrace()
    const ownPending = () => trial.steps().find(({ isPending, isEarlier }) => isPending && !isEarlier)
    const waiting = await waitUntil(
      'a lookup tries the directory again',
      async () => {
        if (!ownPending()) {
          trial = new LdapTrace()
          void find('alice', trial)
        }
        return ownPending()
      },
      (step) => step?.action === 'searchUser',
    )
    assert.deepEqual(waiting, { ...search, isPending: true })
    const parallel = new LdapTrace()
    await find('bob', parallel)
    assert.deepEqual(parallel.steps(), [
      { ...bind, isEarlier: true },
      { ...search, isPending: true, isEarlier: true },
    ])
    assert.doesNotMatch(JSON.stringify([failure, parallel.steps()]), /secret|-password/)
  })

  test('only one login at a time tries the directory, and the others fail at once', async () => {
    const server = await startServer(() => undefined)
    const { login } = await loginsWith(`ldap://127.0.0.1:${server.port}`)
    await login('alice', 'alice-password')
    const before = server.connections()
    const tried = await waitUntil(
      'one login tries the directory',
      () => Promise.all(Array.from({ length: 20 }, (_, index) => login(`user${index}`, 'x'))),
      () => server.connections() > before,
    )
    assert.equal(server.connections(), before + 1)
    assert.equal(tried.filter(({ durationMs }) => durationMs > 500).length, 1)
  })
})
