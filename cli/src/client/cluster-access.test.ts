import assert from 'node:assert/strict'
import { once } from 'node:events'
import { ClientRequest, createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, test } from 'node:test'
import { answerTimeoutMs, sendTo } from './cluster-access.ts'
import { accessToUrl, clientOf } from './index.ts'

type Answer = readonly [status: number, body?: unknown]

/** A router that answers as `answer` says; returns its URL. */
async function listen(answer: (request: IncomingMessage) => Answer): Promise<string> {
  const server = createServer((request, response) => {
    const [status, body] = answer(request)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body ?? {}))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const hasPrefix = ({ url }: IncomingMessage, prefix: string): boolean =>
  url?.startsWith(`/${prefix}/`) === true

describe('a router at a URL', () => {
  test('is that of svc if it has its paths', async () => {
    const url = await listen((request) => [hasPrefix(request, 'svc') ? 200 : 404])
    assert.equal((await accessToUrl(`${url}/`, {})).interfaceName, 'svc')
  })

  test('is that of Druid if it has only its paths, which requests then use', async () => {
    const seen: string[] = []
    const url = await listen((request) => {
      seen.push(`${request.method} ${request.url} ${request.headers['x-druid-comment'] ?? ''}`)
      return hasPrefix(request, 'druid') || hasPrefix(request, 'proxy') ? [200, { a: 1 }] : [404]
    })
    const client = clientOf(await accessToUrl(url, {}))
    assert.equal(client.interfaceName, 'druid')
    assert.deepEqual(await client.send('POST', '/svc/coordinator/v1/rules/a', [], { 'X-Svc-Comment': 'b' }), {
      a: 1,
    })
    await client.send('GET', '/proxy/coordinator/svc-ext/basic-security/authorization/loadStatus')
    assert.deepEqual(seen.slice(-2), [
      'POST /druid/coordinator/v1/rules/a b',
      'GET /proxy/coordinator/druid-ext/basic-security/authorization/loadStatus ',
    ])
    for (const path of ['/svc/coordinator/v1/rules/simulate?full', '/svc/simulation/v1/clock'])
      await assert.rejects(client.send('POST', path, {}), {
        code: 'forbidden',
        message: /^Druid does not support this.*\.\/svc import/,
      })
  })

  test('is that of svc if the user may not read the leader there', async () => {
    const url = await listen((request) => [hasPrefix(request, 'svc') ? 403 : 404])
    assert.equal((await accessToUrl(url, {})).interfaceName, 'svc')
  })

  test('is refused if it has neither', async () => {
    const url = await listen(() => [404])
    await assert.rejects(accessToUrl(url, {}), {
      code: 'invalidInput',
      message: `The server at [${url}] is not a router: this command needs the URL of the cluster's router. Druid's router needs druid.router.managementProxy.enabled=true.`,
    })
  })

  for (const [name, missing] of [
    ['svc', { errorMessage: 'Path [/svc/indexer/v1/tasks] does not exist' }],
    ['druid', '<html>'],
  ] as const)
    test(`is required if a coordinator of ${name} does not have a path`, async () => {
      const url = await listen((request) =>
        hasPrefix(request, `${name}/coordinator`) ? [200] : [404, missing],
      )
      const client = clientOf(await accessToUrl(url, {}))
      await client.send('GET', '/svc/coordinator/v1/leader')
      await assert.rejects(client.send('GET', '/svc/indexer/v1/tasks'), {
        code: 'invalidInput',
        message: `The server at [${url}] is not a router: this command needs the URL of the cluster's router.`,
      })
    })

  test('returns its own message if something else does not exist', async () => {
    const url = await listen((request) =>
      hasPrefix(request, 'svc/indexer') ? [404, { error: 'Unknown task [a]' }] : [200],
    )
    const client = clientOf(await accessToUrl(url, {}))
    await assert.rejects(client.send('GET', '/svc/indexer/v1/task/a'), {
      code: 'notFound',
      message: 'Unknown task [a] (GET /svc/indexer/v1/task/a)',
    })
  })

  test('says what to do about a missing and a rejected login', async () => {
    const url = await listen(() => [401])
    await assert.rejects(accessToUrl(url, {}), {
      code: 'unauthorized',
      message: `The cluster at [${url}] requires a login. Log in with --user and --password-file.`,
    })
    await assert.rejects(accessToUrl(url, { credentials: 'me:wrong' }), {
      code: 'unauthorized',
      message: /rejected the credentials: expected a valid --user and --password-file/,
    })
  })

  test('is described if it does not use TLS', async () => {
    const url = await listen(() => [200])
    await assert.rejects(accessToUrl(url.replace('http:', 'https:'), {}), {
      code: 'unavailable',
      message: /: the server does not use TLS on this port; use http:\/\/ or the TLS port$/,
    })
  })

  for (const [url, message] of [
    ['127.0.0.1:8888', /^Invalid URL \[127\.0\.0\.1:8888\]: expected a URL without a path/],
    ['http://me:secret@router', /^URL \[http:\/\/…@router\] contains credentials/],
  ] as const)
    test(`rejects ${url}`, async () => {
      await assert.rejects(accessToUrl(url, {}), { code: 'invalidInput', message })
    })
})

test('a header contains what the cluster can read', async () => {
  const received: Record<string, Buffer> = {}
  const url = await listen(({ method, headers }) => {
    for (const name of ['x-svc-comment', 'x-druid-comment'])
      if (method === 'POST' && headers[name] !== undefined)
        received[name] = Buffer.from(String(headers[name]), 'latin1')
    return [200]
  })
  const access = await accessToUrl(url, {})
  const send = (interfaceName: 'svc' | 'druid', comment: string) =>
    clientOf({ ...access, interfaceName }).send('POST', '/svc/x', ['ä'], { 'X-Svc-Comment': comment })
  await send('svc', 'Zoë 日本')
  assert.equal(received['x-svc-comment']?.toString('utf8'), 'Zoë 日本')
  await send('druid', 'Zoë')
  assert.equal(received['x-druid-comment']?.toString('latin1'), 'Zoë')
  await assert.rejects(
    send('druid', '日本'),
    /Invalid value \[日本\] for \[X-Druid-Comment\]: expected only Latin-1 characters/,
  )
})

describe('an answer of Druid without a message', () => {
  const permissions: [method: string, path: string, message: string][] = [
    ['GET', '/coordinator/v1/rules/a%2Fb?full', 'Missing permission [READ] on [DATASOURCE] [a/b]'],
    ['POST', '/coordinator/v1/rules/koalas', 'Missing permission [WRITE] on [DATASOURCE] [koalas]'],
    ['GET', '/coordinator/v1/rules/history', 'Missing permission [READ] on [STATE]'],
    [
      'GET',
      '/coordinator/v1/metadata/datasources/a/segments',
      'Missing permission [READ] on [DATASOURCE] [a]',
    ],
    ['GET', '/indexer/v1/compaction/config/cluster', 'Missing permission [READ] on [CONFIG] [CONFIG]'],
    ['GET', '/indexer/v1/tasks', 'status 403'],
  ]
  for (const [method, path, message] of permissions)
    test(`to ${method} ${path} says what is missing: ${message}`, async () => {
      const url = await listen(({ url: requested = '' }) =>
        requested.startsWith('/svc/') ? [404] : requested === '/druid/coordinator/v1/leader' ? [200] : [403],
      )
      const client = clientOf(await accessToUrl(url, {}))
      await assert.rejects(client.send(method, `/svc${path}`, []), {
        code: 'forbidden',
        message: `${message} (${method} /druid${path.split('?')[0]})`,
      })
    })
})

describe('an answer with an error status', () => {
  for (const [status, code] of [
    [400, 'invalidInput'],
    [403, 'forbidden'],
    [404, 'notFound'],
    [409, 'conflict'],
    [412, 'forbidden'],
    [503, 'unavailable'],
    [504, 'timedOut'],
  ] as const)
    test(`${status} is a failure of the kind ${code}`, async () => {
      const url = await listen(({ url: path }) =>
        path === '/svc/x?y' ? [status, { errorMessage: 'No' }] : [200],
      )
      const client = clientOf(await accessToUrl(url, {}))
      await assert.rejects(client.send('GET', '/svc/x?y'), { code, message: 'No (GET /svc/x)' })
    })
})

test('a server that does not respond is named, even if the router forwards the request', async (context) => {
  const server = createServer(() => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => void server.close())
  const routerUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const access = { routerUrl, trusted: undefined, credentials: undefined }
  const sent = (path: string) => sendTo(access, { method: 'GET', path })
  // The timeouts of sockets use other timers, so the event stands for them.
  const { emit } = ClientRequest.prototype
  context.mock.method(ClientRequest.prototype, 'emit', function (this: ClientRequest, ...given: [string]) {
    if (given[0] === 'socket') this.once('finish', () => setTimeout(() => emit.call(this, 'timeout'), 20))
    return emit.apply(this, given)
  })
  await assert.rejects(sent('/svc/coordinator/v1/rules'), {
    code: 'timedOut',
    message: `No response from the coordinator through the router at [${routerUrl}] within 10 s`,
  })
  await assert.rejects(sent('/status'), {
    code: 'timedOut',
    message: `Failed to reach the router at [${routerUrl}]: timed out after 10000 ms`,
  })
  server.closeAllConnections()
})

test('previews may take longer than other requests', () => {
  assert.equal(answerTimeoutMs('/svc/coordinator/v1/rules/simulate?buckets=80'), 60_000)
  assert.equal(answerTimeoutMs('/svc/coordinator/v1/rules/wiki'), 10_000)
})
