import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { after, beforeEach, describe, it, type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { acquireLease, removeNode, saveHeartbeat, sql } from '@svc/shared/postgres'
import { callerAddressHeader, createAddressReader } from '@svc/shared/security'
import {
  createHttpClient,
  createTestContext,
  createTestStores,
  freePort,
  httpRequest,
  waitUntil,
} from '@svc/shared/testing'
import { maxConnections } from './connection-shares.ts'
import { createProxy } from './proxy.ts'

const stores = await createTestStores({ after })
const { database } = stores
beforeEach(async () => {
  await database.query(sql`DELETE FROM nodes`)
  await database.query(sql`DELETE FROM leader_leases`)
})

/** Starts a router that forwards requests. */
async function startRouter(scope: TestContext, properties: Readonly<Record<string, string>> = {}) {
  const context = await createTestContext(scope, stores, 'router', properties)
  const proxy = createProxy(context)
  await context.serve({ routes: proxy.routes, fallback: proxy.forward })
  return context
}

/** Starts a server that is the leader of a role and responds with `handler`. */
async function startLeader(scope: TestContext, handler: RequestListener, role = 'coordinator') {
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  scope.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  await lead(port, role)
  return { server, port }
}

async function lead(port: number, role = 'coordinator', host = '127.0.0.1'): Promise<void> {
  const node = `${host}:${port}`
  await database.query(sql`DELETE FROM leader_leases WHERE role = ${role}`)
  await acquireLease(database, { role, holder: node, node, baseUrl: `http://${node}` }, 600_000)
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}

const path = '/svc/coordinator/v1/rules'
const messageOf = (answer: { json: unknown }) => (answer.json as { errorMessage: string }).errorMessage

describe('a request', () => {
  it('reaches the leader unchanged, and so does the response to the caller', async (scope) => {
    const seen: string[] = []
    await startLeader(scope, async (request, response) => {
      seen.push(
        `${request.method} ${request.url} ${request.headers['content-type']} ${await readAll(request)}`,
      )
      response.writeHead(201, 'Made', {
        'X-Answer': 'yes',
        'Set-Cookie': ['a=1', 'b=2'],
        'Content-Type': 'text/x',
      })
      response.end('made')
    })
    const router = await startRouter(scope)
    const answer = await httpRequest(router.port, {
      method: 'POST',
      path: `${path}/a%2Fb?full&x=%20`,
      body: [{ type: 'dropForever' }],
    })
    assert.deepEqual(seen, [`POST ${path}/a%2Fb?full&x=%20 application/json [{"type":"dropForever"}]`])
    assert.equal(answer.status, 201)
    assert.equal(answer.text, 'made')
    assert.equal(answer.headers['x-answer'], 'yes')
    assert.equal(answer.headers['content-type'], 'text/x')
    assert.deepEqual(answer.headers['set-cookie'], ['a=1', 'b=2'])
  })

  it('goes to the server that its path names', async (scope) => {
    const echo =
      (role: string): RequestListener =>
      (request, response) =>
        response.end(`${role} ${request.url}`)
    await startLeader(scope, echo('coordinator'))
    await startLeader(scope, echo('overlord'), 'overlord')
    const { port: brokerPort } = await startLeader(scope, echo('broker'), 'nobody')
    await saveHeartbeat(database, brokerNode(brokerPort))
    const router = await startRouter(scope)
    const rows = [
      ['/svc/coordinator/v1/x', 'coordinator /svc/coordinator/v1/x'],
      ['/svc/simulation/v1/x', 'coordinator /svc/simulation/v1/x'],
      ['/proxy/coordinator/svc-ext/x?y', 'coordinator /svc-ext/x?y'],
      ['/svc/indexer/v1/tasks', 'overlord /svc/indexer/v1/tasks'],
      ['/proxy/overlord/status', 'overlord /status'],
      ['/svc/v2/sql', 'broker /svc/v2/sql'],
      ['/svc/broker/v1/loadstatus', 'broker /svc/broker/v1/loadstatus'],
    ] as const
    for (const [given, expected] of rows)
      assert.equal((await httpRequest(router.port, { path: given })).text, expected)
  })

  it('returns 404 for unknown and internal paths', async (scope) => {
    await startLeader(scope, () => assert.fail('the request was forwarded'))
    const router = await startRouter(scope)
    for (const given of [
      '/nowhere',
      '/svc-internal/v1/servers/report',
      '/proxy/coordinator/svc-internal/v1',
      '/svc/coordinator/../x',
    ]) {
      const answer = await httpRequest(router.port, { path: given, method: 'POST', body: {} })
      assert.equal(answer.status, 404)
      assert.equal(messageOf(answer), `Path [${given}] does not exist`)
    }
  })

  const methods = ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'PROPFIND']
  it('keeps its method, and has no body if the caller sent none', async (scope) => {
    await startLeader(scope, async (request, response) => {
      response.end(`${request.method} [${await readAll(request)}] ${request.headers['transfer-encoding']}`)
    })
    const router = await startRouter(scope)
    for (const method of methods)
      assert.equal((await httpRequest(router.port, { path, method })).text, `${method} [] undefined`)
    const empty = await httpRequest(router.port, { path, method: 'POST', headers: { 'Content-Length': '0' } })
    assert.equal(empty.text, 'POST [] undefined')
  })
})

describe('headers', () => {
  /** Sends a request with these headers and returns the headers that arrive at the target. */
  async function arriving(scope: TestContext, headers: Record<string, string | string[]>) {
    let arrived: IncomingMessage | undefined
    const { port } = await startLeader(scope, (request, response) => {
      arrived = request
      response.end()
    })
    const router = await startRouter(scope)
    await httpRequest(router.port, { path, headers })
    return { headers: (arrived ?? assert.fail()).headers, port, router }
  }

  it('from the caller are forwarded, including the credentials', async (scope) => {
    const { headers, port } = await arriving(scope, {
      Authorization: 'Basic YW5uOng=',
      'X-Svc-Author': 'ann',
      'X-Svc-Comment': 'why',
      Accept: 'text/csv',
      'X-Many': ['1', '2'],
      Host: 'evil.example',
    })
    assert.equal(headers.authorization, 'Basic YW5uOng=')
    assert.equal(headers['x-svc-author'], 'ann')
    assert.equal(headers['x-svc-comment'], 'why')
    assert.equal(headers.accept, 'text/csv')
    assert.equal(headers['x-many'], '1, 2')
    assert.equal(headers.host, `127.0.0.1:${port}`)
  })

  it('about a single connection are not forwarded', async (scope) => {
    const { headers } = await arriving(scope, {
      Connection: 'keep-alive, X-Hop ,x-second',
      'Keep-Alive': 'timeout=5',
      'X-Hop': 'a',
      'X-Second': 'b',
      'X-End': 'c',
      TE: 'trailers',
      Upgrade: 'h2c',
      'Proxy-Authorization': 'Basic eDp5',
      'Proxy-Connection': 'close',
    })
    for (const name of ['x-hop', 'x-second', 'te', 'upgrade', 'proxy-authorization', 'proxy-connection'])
      assert.equal(headers[name], undefined, name)
    assert.notEqual(headers['keep-alive'], 'timeout=5')
    assert.equal(headers['x-end'], 'c')
  })

  it('that would impersonate a server or another caller are not forwarded', async (scope) => {
    const { headers } = await arriving(scope, {
      'X-Svc-From': 'historical 10.0.0.1:8083',
      'X-SVC-FROM': 'again',
      'X-Forwarded-For': '10.0.0.1',
      'X-Forwarded-Host': 'inside',
      'X-Forwarded-User': 'admin',
      Forwarded: 'for=10.0.0.1',
    })
    assert.equal(headers['x-svc-from'], undefined)
    assert.equal(headers['x-forwarded-for'], '127.0.0.1')
    for (const name of ['x-forwarded-host', 'x-forwarded-user', 'forwarded'])
      assert.equal(headers[name], undefined)
  })

  it('contain the address of the caller, signed for this request to this server', async (scope) => {
    const arrived: IncomingMessage[] = []
    const { port } = await startLeader(scope, (request, response) => {
      arrived.push(request)
      response.end()
    })
    const router = await startRouter(scope, {
      'svc.escalator.type': 'basic',
      'svc.escalator.internalClientPassword': 'secret',
    })
    const target = `http://127.0.0.1:${port}`
    const read = createAddressReader(router.escalator, () => target, Date.now)
    const readAgain = createAddressReader(router.escalator, () => target, Date.now)
    const forged = { 'X-Svc-Caller-Address': 'a 1 2 10.0.0.1 b' }
    const proxied = `/proxy/coordinator${path}/a%2Fb?full`
    await httpRequest(router.port, { path: proxied, headers: { ...forged, Authorization: 'Basic YTpi' } })
    const [{ headers, method = '', url = '' }] = arrived as [IncomingMessage]
    const header = String(headers[callerAddressHeader])
    const request = { method, path: url, authorization: headers.authorization }
    assert.equal(request.authorization, 'Basic YTpi')
    assert.deepEqual(read(header, request), { kind: 'valid', address: '127.0.0.1' })
    assert.equal(read(header, request).kind, 'invalid', 'a second time')
    assert.equal(readAgain(header, { ...request, authorization: 'Basic YTpj' }).kind, 'invalid')
  })

  it('contain no caller address if the servers share no secret', async (scope) => {
    const { headers } = await arriving(scope, { 'X-Svc-Caller-Address': 'a 1 2 10.0.0.1 b' })
    assert.equal(headers[callerAddressHeader], undefined)
  })

  it('contain the same request id everywhere', async (scope) => {
    const arrived: unknown[] = []
    await startLeader(scope, (request, response) => {
      arrived.push(request.headers['x-request-id'])
      response.end()
    })
    const router = await startRouter(scope)
    const given = await httpRequest(router.port, { path, headers: { 'X-Request-Id': 'mine-1' } })
    const bad = await httpRequest(router.port, { path, headers: { 'X-Request-Id': 'a b' } })
    assert.deepEqual(arrived, ['mine-1', bad.headers['x-request-id']])
    assert.equal(given.headers['x-request-id'], 'mine-1')
  })

  it('of the response are returned, except those about the connection', async (scope) => {
    await startLeader(scope, (_request, response) => {
      response.writeHead(200, {
        Connection: 'X-Hop, keep-alive',
        'X-Hop': 'a',
        'Keep-Alive': 'timeout=99',
        Upgrade: 'h2c',
        'Proxy-Authenticate': 'Basic',
        'WWW-Authenticate': 'Basic realm="svc"',
        'Retry-After': '1',
      })
      response.end('{}')
    })
    const router = await startRouter(scope)
    const { headers } = await httpRequest(router.port, { path })
    for (const name of ['x-hop', 'upgrade', 'proxy-authenticate'])
      assert.equal(headers[name], undefined, name)
    assert.notEqual(headers['keep-alive'], 'timeout=99')
    assert.equal(headers['www-authenticate'], 'Basic realm="svc"')
    assert.equal(headers['retry-after'], '1')
  })
})

describe('a response', () => {
  it('may be HEAD, empty, not modified, or a redirect, which is not followed', async (scope) => {
    const { port } = await startLeader(scope, (request, response) => {
      if (request.url?.endsWith('/moved'))
        response.writeHead(302, { Location: `http://127.0.0.1:${port}/else` }).end()
      else if (request.url?.endsWith('/empty')) response.writeHead(204).end()
      else if (request.url?.endsWith('/same')) response.writeHead(304).end()
      else response.writeHead(200, { 'Content-Length': '4' }).end('text')
    })
    const router = await startRouter(scope)
    const requestThrough = (end: string, method = 'GET') =>
      httpRequest(router.port, { path: `${path}${end}`, method })
    const moved = await requestThrough('/moved')
    assert.equal(moved.status, 302)
    assert.equal(moved.headers.location, `http://127.0.0.1:${port}/else`)
    assert.equal((await requestThrough('/empty')).status, 204)
    assert.equal((await requestThrough('/same')).status, 304)
    const head = await requestThrough('', 'HEAD')
    assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', '4'])
  })

  it('stays compressed', async (scope) => {
    const compressed = gzipSync('hello')
    await startLeader(scope, (_request, response) => {
      response
        .writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Length': compressed.length })
        .end(compressed)
    })
    const router = await startRouter(scope)
    const answer = await httpRequest(router.port, { path })
    assert.equal(answer.headers['content-encoding'], 'gzip')
    assert.equal(answer.headers['content-length'], String(compressed.length))
  })

  it('is streamed', async (scope) => {
    let next: () => void = () => undefined
    await startLeader(scope, (_request, response) => {
      response.write('first')
      next = () => response.end('second')
    })
    const router = await startRouter(scope)
    const client = createHttpClient(`http://127.0.0.1:${router.port}`)
    scope.after(() => client.close())
    const pieces: string[] = []
    for await (const piece of await client.open({ path })) {
      pieces.push(String(piece))
      if (pieces.length === 1) next()
    }
    assert.deepEqual(pieces, ['first', 'second'])
  })

  it('that is cut off is also cut off for the caller', async (scope) => {
    await startLeader(scope, (_request, response) => {
      response.writeHead(200, { 'Content-Length': '1000' })
      response.write('the beginning')
      setImmediate(() => response.destroy())
    })
    const router = await startRouter(scope)
    await assert.rejects(httpRequest(router.port, { path }), { code: 'ECONNRESET' })
    assert.deepEqual(
      router.logger.lines.filter(({ level }) => level === 'error'),
      [],
    )
  })
})

describe('a body', () => {
  it('is streamed if it is long', async (scope) => {
    const first = 'x'.repeat(70_000)
    let arrived = ''
    await startLeader(scope, async (request, response) => {
      for await (const piece of request) arrived += piece
      response.end('all there')
    })
    const router = await startRouter(scope)
    async function* pieces(): AsyncGenerator<string> {
      yield first
      await waitUntil('the first piece', () => arrived.length === first.length)
      yield 'second'
    }
    const answer = await httpRequest(router.port, { path, method: 'POST', pieces: pieces() })
    assert.equal(answer.text, 'all there')
    assert.equal(arrived, `${first}second`)
  })

  it('uses no connection to the server before it is complete, if it is short', async (scope) => {
    let requests = 0
    await startLeader(scope, (request, response) => {
      requests++
      if (request.method === 'GET') response.end()
      else void readAll(request).then((text) => response.end(text))
    })
    const router = await startRouter(scope)
    // Sockets, because each sends only a part of its request.
    const sockets = Array.from({ length: 200 }, () => connect(router.port, '127.0.0.1'))
    for (const socket of sockets) {
      socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nx`)
      scope.after(() => socket.destroy())
    }
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    const other = await httpRequest(router.port, { path })
    assert.equal(other.status, 200)
    assert.equal(requests, 1)
    sockets[0]!.write('yzz')
    const [answer] = await once(sockets[0]!, 'data')
    assert.match(String(answer), /xyzz/)
  })

  it('gets the response of the target even if the target rejects it early', async (scope) => {
    await startLeader(scope, (_request, response) => {
      response.writeHead(413, { 'Content-Type': 'application/json' })
      response.end('{"errorCode":"tooLarge"}')
    })
    const router = await startRouter(scope)
    for (let round = 0; round < 5; round++) {
      const answer = await httpRequest(router.port, {
        path,
        method: 'POST',
        body: Buffer.alloc(20_000_000, ' '),
      })
      assert.equal(answer.status, 413)
      assert.deepEqual(answer.json, { errorCode: 'tooLarge' })
    }
  })

  it('of many megabytes arrives completely', async (scope) => {
    await startLeader(scope, async (request, response) => {
      let length = 0
      for await (const piece of request) length += (piece as Buffer).length
      response.end(String(length))
    })
    const router = await startRouter(scope)
    const answer = await httpRequest(router.port, { path, method: 'POST', body: Buffer.alloc(30_000_000) })
    assert.equal(answer.text, '30000000')
  })
})

describe('an unavailable target', () => {
  for (const method of ['GET', 'POST']) {
    it(`is named in a 503 response to ${method}`, async (scope) => {
      const port = await freePort()
      await lead(port)
      const router = await startRouter(scope)
      const body = method === 'POST' ? Buffer.alloc(100_000, ' ') : undefined
      const answer = await httpRequest(router.port, { path, method, body })
      assert.equal(answer.status, 503)
      assert.equal(
        messageOf(answer),
        `The coordinator at [http://127.0.0.1:${port}] cannot be reached: connect ECONNREFUSED 127.0.0.1:${port}`,
      )
      assert.equal(answer.headers['retry-after'], '1')
    })

    it(`causes 503 without a retry if it drops the connection before responding to ${method}`, async (scope) => {
      let requested = 0
      const { port } = await startLeader(scope, (request) => {
        requested += 1
        request.socket.destroy()
      })
      const router = await startRouter(scope)
      const answer = await httpRequest(router.port, {
        path,
        method,
        body: method === 'POST' ? '{}' : undefined,
      })
      assert.equal(answer.status, 503)
      assert.match(
        messageOf(answer),
        new RegExp(`^The coordinator at \\[http://127\\.0\\.0\\.1:${port}\\] cannot`),
      )
      assert.equal(requested, 1)
    })

    // If the host name disappears with the server, as for a pod, the lookup fails instead of the connection.
    for (const host of ['127.0.0.1', 'gone.invalid']) {
      it(`is replaced by the new leader, for ${method} to ${host}`, async (scope) => {
        const down = await freePort()
        await lead(down, 'coordinator', host)
        const router = await startRouter(scope)
        assert.equal(router.discovery.leader('coordinator').baseUrl, `http://${host}:${down}`)
        await startLeader(scope, async (request, response) => {
          response.end(`${request.method} ${(await readAll(request)).length}`)
        })
        const body = method === 'POST' ? Buffer.alloc(100_000, ' ') : undefined
        const answer = await httpRequest(router.port, { path, method, body })
        assert.equal(answer.text, `${method} ${body?.length ?? 0}`)
      })
    }
  }

  it('causes 503 if there is no leader, until there is one', async (scope) => {
    const router = await startRouter(scope)
    for (const [given, message] of [
      [path, 'No coordinator leader is available at the moment'],
      ['/svc/indexer/v1/tasks', 'No overlord leader is available at the moment'],
      ['/svc/v2/sql', 'No broker is running'],
    ] as const) {
      const answer = await httpRequest(router.port, { path: given })
      assert.equal(answer.status, 503)
      assert.equal(messageOf(answer), message)
    }
    await startLeader(scope, (_request, response) => response.end('here'))
    assert.equal((await httpRequest(router.port, { path })).text, 'here')
  })
})

const brokerNode = (port: number) => ({
  name: `127.0.0.1:${port}`,
  role: 'broker' as const,
  service: 'svc/broker',
  host: '127.0.0.1',
  plaintextPort: port,
  tlsPort: null,
  details: {},
})

describe('brokers', () => {
  it('get queries in turn, and are listed', async (scope) => {
    const ports: number[] = []
    for (let index = 0; index < 3; index++) {
      const { port } = await startLeader(scope, (_request, response) => response.end(String(port)), 'nobody')
      ports.push(port)
      await saveHeartbeat(database, brokerNode(port))
    }
    const router = await startRouter(scope)
    const listed = await httpRequest(router.port, { path: '/svc/router/v1/brokers' })
    assert.deepEqual(listed.json, { brokers: ports.map((port) => `127.0.0.1:${port}`).sort() })
    const answered = new Set<string>()
    for (let turn = 0; turn < 3; turn++)
      answered.add((await httpRequest(router.port, { path: '/svc/v2/sql' })).text)
    assert.deepEqual([...answered].sort(), ports.map(String).sort())
  })
})

describe('a query', () => {
  it('fails when its broker misses its heartbeats', async (scope) => {
    const requested = Promise.withResolvers<void>()
    const { port } = await startLeader(scope, () => requested.resolve(), 'nobody')
    await saveHeartbeat(database, brokerNode(port))
    const router = await startRouter(scope)
    const answer = httpRequest(router.port, { method: 'POST', path: '/svc/v2/sql', body: {} })
    await requested.promise
    await removeNode(database, brokerNode(port))
    const { status, text } = await answer
    assert.equal(status, 503)
    assert.match(text, /The broker at \[http:.*\] cannot be reached: it missed its heartbeats/)
  })
})

describe('canceling a query', () => {
  // The status of each broker (0 if it is unavailable), and the status that the caller gets.
  const cases: readonly [statuses: readonly number[], expected: number][] = [
    [[202], 202],
    [[404, 202, 404], 202],
    [[403, 202], 202],
    [[404, 403], 403],
    [[404, 404], 404],
    [[0, 202], 202],
    [[0, 404], 503],
    [[404, 500], 500],
    [[], 503],
  ]
  for (const [statuses, expected] of cases) {
    it(`returns ${expected} if the brokers return ${statuses.join(', ') || 'nothing'}`, async (scope) => {
      const seen: string[] = []
      for (const [index, status] of statuses.entries()) {
        const { server, port } = await startLeader(
          scope,
          (request, response) => {
            seen.push(`${index} ${request.method} ${request.url} ${request.headers.authorization}`)
            response.writeHead(status).end(String(index))
          },
          'nobody',
        )
        if (status === 0) server.close()
        await saveHeartbeat(database, brokerNode(port))
      }
      const router = await startRouter(scope)
      const answer = await httpRequest(router.port, {
        method: 'DELETE',
        path: '/svc/v2/sql/a%2Fb',
        headers: { authorization: 'Basic YTpi' },
      })
      assert.equal(answer.status, expected)
      const requested = statuses.flatMap((status, index) =>
        status === 0 ? [] : `${index} DELETE /svc/v2/sql/a%2Fb Basic YTpi`,
      )
      assert.deepEqual(seen.sort(), requested)
      if (expected !== 503) assert.equal(statuses[Number(answer.text)], expected)
    })
  }
})

describe('a broker that hangs', () => {
  it('does not delay the response of the broker that cancels a query', async (scope) => {
    const { port: hanging } = await startLeader(scope, () => undefined, 'nobody')
    const { port } = await startLeader(scope, (_request, response) => response.writeHead(202).end(), 'nobody')
    for (const one of [hanging, port]) await saveHeartbeat(database, brokerNode(one))
    const router = await startRouter(scope)
    const startedAt = performance.now()
    const { status } = await httpRequest(router.port, { method: 'DELETE', path: '/svc/v2/sql/a' })
    assert.equal(status, 202)
    assert.ok(performance.now() - startedAt < 9000, 'it waited for the broker that hangs')
  })
})

describe('a caller that disconnects', () => {
  for (const begun of [false, true]) {
    it(`ends the request at the target ${begun ? 'during' : 'before'} the response`, async (scope) => {
      let isThere = false
      let hasLeft = false
      await startLeader(scope, (_request, response) => {
        isThere = true
        if (begun) response.write('begun')
        response.once('close', () => {
          hasLeft = true
        })
      })
      const router = await startRouter(scope)
      // A socket, because the caller disconnects.
      const socket = connect(router.port, '127.0.0.1')
      let received = ''
      socket.on('data', (chunk) => {
        received += chunk
      })
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
      await waitUntil('the target has the request', () => isThere && (!begun || received.includes('begun')))
      assert.equal(hasLeft, false)
      socket.destroy()
      await waitUntil('the target notices it', () => hasLeft)
      assert.deepEqual(
        router.logger.lines.filter(({ level }) => level === 'error'),
        [],
      )
    })
  }

  it('stops forwarding its body', async (scope) => {
    let arrived = 0
    let aborted: unknown
    await startLeader(scope, async (request) => {
      try {
        for await (const piece of request) arrived += (piece as Buffer).length
      } catch (error) {
        aborted = error
      }
    })
    const router = await startRouter(scope)
    // A socket, because the caller disconnects.
    const socket = connect(router.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(100_000)}`)
    await waitUntil('the beginning has arrived', () => arrived === 100_000)
    socket.destroy()
    await waitUntil('the target notices it', () => aborted)
    assert.equal((aborted as NodeJS.ErrnoException).code, 'ECONNRESET')
  })
})

describe('a caller with many slow requests', () => {
  it('does not delay the requests of others', async (scope) => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    scope.after(() => end())
    await startLeader(scope, async ({ url }, response) => {
      if (url === `${path}/slow`) await ended
      response.end('answered')
    })
    const context = await createTestContext(scope, stores, 'router')
    const proxy = createProxy(context)
    let received = 0
    await context.serve({
      routes: proxy.routes,
      fallback: (request, response, caller) => {
        received += 1
        return proxy.forward(request, response, { ...caller, identity: String(request.headers.user) })
      },
    })
    const as = (user: string, name: string) =>
      httpRequest(context.port, { path: `${path}/${name}`, headers: { user } })
    const slow = Array.from({ length: 2 * maxConnections }, () => as('one', 'slow'))
    await waitUntil(
      'all slow requests have arrived',
      async () => received,
      (count) => count === slow.length,
    )
    assert.equal((await as('another', 'fast')).text, 'answered')
    end()
    for (const { text } of await Promise.all(slow)) assert.equal(text, 'answered')
  })
})
