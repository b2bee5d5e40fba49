import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, beforeEach, describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { notFound } from '@svc/domain/failure'
import { errorBody } from '../http/index.ts'
import { acquireLease, sql } from '../postgres/index.ts'
import { createTestContext, createTestStores, freePort, testSettings, waitUntil } from '../testing/index.ts'
import { type FollowedStores, fixedStores, loadTlsStores } from '../tls/index.ts'
import { createServiceClient } from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores
beforeEach(() => database.query(sql`DELETE FROM leader_leases`))
const fixtures = fileURLToPath(new URL('../../../../test/fixtures/stores/', import.meta.url))

async function startServer(scope: TestContext, handler: RequestListener): Promise<number> {
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  scope.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const lead = async (port: number) => {
  await database.query(sql`DELETE FROM leader_leases`)
  const node = `127.0.0.1:${port}`
  await acquireLease(
    database,
    { role: 'coordinator', holder: node, node, baseUrl: `http://${node}` },
    600_000,
  )
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}

const get = { method: 'GET', path: '/x' } as const

describe('a call', () => {
  it('sends JSON with the name of the caller, and returns the parsed JSON response', async (scope) => {
    const seen: string[] = []
    const port = await startServer(scope, async (request, response) => {
      const { 'x-svc-from': from, 'content-type': type, authorization } = request.headers
      seen.push([request.method, request.url, from, type, authorization, await readAll(request)].join(' | '))
      response.end('{"answer":[1,"ü"]}')
    })
    const { client, node } = await createTestContext(scope, stores, 'broker')
    const from = `broker ${node().name}`
    assert.deepEqual(
      await client.call(`http://127.0.0.1:${port}`, { method: 'POST', path: '/a?b=c', body: { d: 'ü' } }),
      {
        answer: [1, 'ü'],
      },
    )
    await client.call(`http://127.0.0.1:${port}`, get)
    assert.deepEqual(seen, [
      `POST | /a?b=c | ${from} | application/json |  | {"d":"ü"}`,
      `GET | /x | ${from} |  |  | `,
    ])
  })

  it('runs as the escalator', async (scope) => {
    let authorization: string | undefined
    const port = await startServer(scope, (request, response) => {
      authorization = request.headers.authorization
      response.end()
    })
    const { client } = await createTestContext(scope, stores, 'broker', {
      'svc.escalator.type': 'basic',
      'svc.escalator.internalClientPassword': 'secret',
    })
    assert.equal(await client.call(`http://127.0.0.1:${port}`, get), undefined)
    assert.equal(authorization, `Basic ${Buffer.from('svc_system:secret').toString('base64')}`)
  })

  it('fails with the code of the remote error', async (scope) => {
    const port = await startServer(scope, (_request, response) => {
      response.writeHead(404).end(JSON.stringify(errorBody(notFound('Task[a] not found'))))
    })
    const { client } = await createTestContext(scope, stores, 'broker')
    await assert.rejects(client.call(`http://127.0.0.1:${port}`, get), {
      code: 'notFound',
      message: `[http://127.0.0.1:${port}] responded: Task[a] not found`,
    })
  })

  const broken: readonly [name: string, timeoutMs: number, handler: RequestListener, reason: RegExp][] = [
    ['without a response', 300, () => undefined, /no response within \[300\] ms$/],
    [
      'with a slow response',
      300,
      (_request, response) => {
        response.write('{"half":')
      },
      /no response within \[300\] ms$/,
    ],
    ['with a closed connection', 30_000, (request) => request.socket.destroy(), /socket hang up|ECONNRESET/],
    [
      'with a connection closed during the response',
      30_000,
      (_request, response) => {
        response.writeHead(200, { 'Content-Length': '100' })
        response.write('{')
        setImmediate(() => response.destroy())
      },
      /aborted|ECONNRESET/,
    ],
  ]
  for (const [name, timeoutMs, handler, reason] of broken) {
    it(`${name} fails with the URL of the server`, async (scope) => {
      const port = await startServer(scope, handler)
      const { client } = await createTestContext(scope, stores, 'broker')
      const url = `http://127.0.0.1:${port}`
      await assert.rejects(
        client.call(url, { ...get, timeoutMs }),
        (error: Error & { code: string; context: object }) => {
          assert.equal(error.code, 'unavailable')
          assert.deepEqual(error.context, { server: url })
          assert.ok(error.message.startsWith(`Server [${url}] cannot be reached: `))
          assert.match(error.message, reason)
          return true
        },
      )
    })
  }

  it('ends when its caller cancels', async (scope) => {
    let isThere = false
    let isOver = false
    const port = await startServer(scope, (_request, response) => {
      isThere = true
      response.once('close', () => {
        isOver = true
      })
    })
    const { client } = await createTestContext(scope, stores, 'broker')
    const controller = new AbortController()
    const call = assert.rejects(
      client.call(`http://127.0.0.1:${port}`, { ...get, signal: controller.signal }),
    )
    await waitUntil('it is there', () => isThere)
    controller.abort()
    await call
    await waitUntil('the server notices', () => isOver)
  })
})

describe('a call over TLS', () => {
  async function storesOf(properties: Record<string, string>): Promise<FollowedStores> {
    const loaded = await loadTlsStores(testSettings('broker', properties), Date.now())
    if (loaded.kind === 'faulty') throw new Error(loaded.problems.join('\n'))
    return fixedStores(loaded.stores)
  }
  const trust = {
    'svc.client.https.trustStoreType': 'pem',
    'svc.client.https.trustStorePath': `${fixtures}authority.pem`,
  }

  async function startTls(scope: TestContext, store: string): Promise<string> {
    const { current } = await storesOf({
      'svc.enableTlsPort': 'true',
      'svc.server.https.keyStorePath': `${fixtures}${store}`,
      'svc.server.https.keyStorePassword': 'changeit',
    })
    const identity = current().server?.identity
    const server = createTlsServer({ ...identity, maxVersion: 'TLSv1.2' }, (_request, response) =>
      response.end('"safe"'),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    scope.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  it('goes to servers that the trust store trusts, and to no others', async (scope) => {
    const { discovery, settings } = await createTestContext(scope, stores, 'broker')
    const url = await startTls(scope, 'ec.jks')
    const trusting = createServiceClient(settings, () => 'me', discovery, await storesOf(trust))
    const others = createServiceClient(settings, () => 'me', discovery, await storesOf({}))
    scope.after(() => [trusting, others].map((client) => client.close()))
    assert.equal(await trusting.call(url, get), 'safe')
    await assert.rejects(others.call(url, get), { code: 'unavailable', message: /certificate/ })
  })

  it('uses the configured TLS version', async (scope) => {
    const { discovery, settings } = await createTestContext(scope, stores, 'broker')
    const url = await startTls(scope, 'rsa.jks')
    const strict = await storesOf({ ...trust, 'svc.client.https.protocol': 'TLSv1.3' })
    const client = createServiceClient(settings, () => 'me', discovery, strict)
    scope.after(() => client.close())
    await assert.rejects(client.call(url, get), { code: 'unavailable', message: /version/ })
  })
})

describe('a call to the leader', () => {
  it('goes to the current leader, even if it has changed since the last refresh', async (scope) => {
    const context = await createTestContext(scope, stores, 'broker')
    const down = await freePort()
    await lead(down)
    await context.discovery.refresh()
    const port = await startServer(scope, (_request, response) => response.end('"new leader"'))
    await lead(port)
    assert.equal(await context.client.callLeader('coordinator', get), 'new leader')
  })

  it('goes to the new leader if the old one is no longer leader', async (scope) => {
    const context = await createTestContext(scope, stores, 'broker')
    const former = await startServer(scope, (_request, response) => response.writeHead(503).end())
    await lead(former)
    await context.discovery.refresh()
    await lead(await startServer(scope, (_request, response) => response.end('"new leader"')))
    assert.equal(await context.client.callLeader('coordinator', get), 'new leader')
  })

  it('is not retried for an error that another leader would return as well', async (scope) => {
    const context = await createTestContext(scope, stores, 'broker')
    let requests = 0
    await lead(
      await startServer(scope, (_request, response) => {
        requests += 1
        response.writeHead(400).end()
      }),
    )
    await context.discovery.refresh()
    await assert.rejects(context.client.callLeader('coordinator', get), { code: 'invalidInput' })
    assert.equal(requests, 1)
  })

  it('fails if there is no leader', async (scope) => {
    const { client } = await createTestContext(scope, stores, 'broker')
    await assert.rejects(client.callLeader('overlord', get), {
      code: 'unavailable',
      message: 'No overlord leader is available at the moment',
    })
  })

  it('is not retried after its caller has canceled', async (scope) => {
    const context = await createTestContext(scope, stores, 'broker')
    let requests = 0
    await lead(
      await startServer(scope, () => {
        requests += 1
      }),
    )
    await context.discovery.refresh()
    const controller = new AbortController()
    const call = assert.rejects(
      context.client.callLeader('coordinator', { ...get, signal: controller.signal }),
    )
    await waitUntil('it is there', () => requests === 1)
    controller.abort()
    await call
    assert.equal(requests, 1)
  })
})
