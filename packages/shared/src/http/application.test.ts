import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import {
  conflict,
  forbidden,
  invalidInput,
  methodNotAllowed,
  notFound,
  tooLarge,
  unauthorized,
  unavailable,
  unsupportedMediaType,
} from '@svc/domain/failure'
import { jsonList, jsonObject } from '@svc/domain/json'
import { described, omittable, readLater, readOneOf } from '@svc/domain/validation'
import { createMetrics } from '../metrics/index.ts'
import { basicHeader, createSecurity, hashPassword, mayAccess } from '../security/index.ts'
import { httpRequest, recordingLogger, testSettings, waitUntil } from '../testing/index.ts'
import {
  authenticated,
  type Call,
  config,
  createApplication,
  datasource,
  internal,
  JsonPieces,
  jsonBody,
  open,
  Reply,
  type Route,
  route,
  state,
  statedDatasource,
  streamed,
} from './index.ts'

const settings = testSettings('coordinator', {
  'svc.auth.authenticatorChain': '["a"]',
  'svc.auth.authenticator.a.type': 'basic',
  'svc.auth.authenticator.a.authorizerName': 'z',
  'svc.auth.authorizers': '["z"]',
  'svc.auth.authorizer.z.type': 'basic',
  'svc.escalator.type': 'basic',
  'svc.escalator.internalClientPassword': 'internal',
})
const everything = ['STATE', 'CONFIG', 'DATASOURCE'].flatMap((type) =>
  (['READ', 'WRITE'] as const).map((action) => ({
    resource: { type: type as 'STATE', name: '.*' },
    action,
  })),
)
const metrics = createMetrics('coordinator')
const log = recordingLogger()

const failures = {
  invalidInput: invalidInput('bad [x]', { field: 'x' }),
  unauthorized: unauthorized('no'),
  forbidden: forbidden('not you'),
  notFound: notFound('Datasource[wiki] not found'),
  methodNotAllowed: methodNotAllowed('not so'),
  conflict: conflict('there already'),
  tooLarge: tooLarge('too much'),
  unsupportedMediaType: unsupportedMediaType('not this'),
  unavailable: unavailable('away'),
}

/** The state of a response in pieces: how many were generated, and whether the generator was stopped. */
const produced = { pieces: 0, isOver: false }
const piece = 'x'.repeat(100_000)

async function* endless(): AsyncGenerator<string> {
  try {
    for (;;) {
      produced.pieces += 1
      yield piece
    }
  } finally {
    produced.isOver = true
  }
}

async function* failing(after: number): AsyncGenerator<string> {
  for (let count = 0; count < after; count += 1) yield piece
  throw notFound('Nothing more')
}

const pages = async function* () {
  yield []
  yield ['1', '"two"']
  yield []
  yield ['{"three":3}']
}

let held: { signal: AbortSignal; answer: () => void } | undefined

const modeQuery = { mode: omittable(readOneOf(['fast', 'slow']), 'fast') }

const routes: readonly Route[] = [
  route({
    answers: [],
    method: 'GET',
    path: '/open',
    access: open,
    summary: '',
    handle: () => ({ open: true }),
  }),
  route({
    answers: [],
    method: 'GET',
    path: '/things',
    access: state('READ'),
    summary: '',
    handle: () => ['one'],
  }),
  route({
    answers: [],
    method: 'POST',
    path: '/things',
    access: state('WRITE'),
    summary: '',
    query: modeQuery,
    body: jsonBody(
      readLater(() => ({})),
      { limitBytes: 1000 },
    ),
    handle: ({ body, query }) => ({ body, mode: query.mode }),
  }),
  route({
    answers: [],
    method: 'POST',
    path: '/optional',
    access: state('WRITE'),
    summary: '',
    body: jsonBody(
      described({}, (json) => json ?? 'nothing'),
      { optional: true },
    ),
    handle: ({ body }) => ({ body }),
  }),
  route({
    answers: [],
    method: 'POST',
    path: '/submitted',
    access: statedDatasource('WRITE', 'what the body names'),
    summary: '',
    body: jsonBody(
      described({}, (json) => {
        if (json === 'bad') throw failures.invalidInput
        return json
      }),
      { maxValues: 1000, maxNames: 50 },
    ),
    handle: ({ body }) => ({ length: JSON.stringify(body).length }),
  }),
  route({
    answers: [],
    method: 'POST',
    path: '/bodiless',
    access: state('WRITE'),
    summary: '',
    handle: () => undefined,
  }),
  route({
    answers: [],
    method: 'GET',
    path: '/things/special',
    access: state('READ'),
    summary: '',
    handle: () => 'the special one',
  }),
  route({
    answers: [],
    method: 'GET',
    path: '/things/:dataSource',
    access: datasource('READ'),
    summary: '',
    handle: ({ params }) => ({ named: params.dataSource }),
  }),
  route({
    answers: [],
    method: 'DELETE',
    path: '/things/:dataSource',
    access: datasource('WRITE'),
    summary: '',
    handle: () => undefined,
  }),
  route({
    answers: [],
    method: 'GET',
    path: '/config',
    access: config('READ'),
    summary: '',
    handle: () => ({}),
  }),
  route({
    answers: [],
    method: 'GET',
    path: '/mine',
    access: authenticated,
    summary: '',
    handle: ({ audit }) => audit,
  }),
  route({ answers: [], method: 'GET', path: '/inner', access: internal, summary: '', handle: () => ({}) }),
  route({
    answers: [],
    method: 'GET',
    path: '/stated',
    access: statedDatasource('READ', 'what the query names'),
    summary: '',
    handle: async ({ caller }) => ({ can: await mayAccess(caller, 'wiki') }),
  }),
  route({
    answers: [],
    method: 'GET',
    path: '/failure/:kind',
    access: open,
    summary: '',
    handle: ({ params }) => {
      throw failures[params.kind as keyof typeof failures]
    },
  }),
  route({
    answers: [],
    method: 'GET',
    path: '/bug',
    access: authenticated,
    summary: '',
    handle: async () => {
      throw new TypeError('the password is hunter2')
    },
  }),
  route({
    answers: [],
    method: 'GET',
    path: '/thrown',
    access: open,
    summary: '',
    handle: () => {
      throw Object.assign(new Error('an upstream said so'), { status: 400, code: 'hunter2' })
    },
  }),
  route({
    answers: [],
    method: 'GET',
    path: '/reply',
    access: open,
    summary: '',
    handle: () => new Reply(202, 'some text', { 'Content-Type': 'text/plain', 'X-More': 'yes' }),
  }),
  route({
    answers: [],
    method: 'GET',
    path: '/empty',
    access: open,
    summary: '',
    handle: () => new Reply(204),
  }),
  route({
    answers: [],
    method: 'GET',
    path: '/broken-stream',
    access: open,
    summary: '',
    handle: ({ response }) => {
      response.write('half of ')
      throw new Error('the rest is lost')
    },
  }),
  route({
    answers: [],
    method: 'GET',
    path: '/stream',
    access: open,
    summary: '',
    handle: ({ response }) => {
      response.end('streamed')
      return streamed
    },
  }),
  ...(
    [
      ['list', () => jsonList(pages())],
      ['empty-list', () => jsonList([])],
      ['object', () => jsonObject([[['a', '1']], [['b', '2']]])],
      ['endless', endless],
      ['failing-first', () => failing(0)],
      ['failing-late', () => failing(5)],
    ] as const
  ).map(([name, make]) =>
    route({
      answers: [],
      method: 'GET',
      path: `/pieces/${name}`,
      access: open,
      summary: '',
      handle: () => new JsonPieces(make()),
    }),
  ),
  route({
    answers: [],
    method: 'GET',
    path: '/kept-pieces',
    access: state('READ'),
    summary: '',
    handle: () => new JsonPieces(jsonList([['1']])),
  }),
  route({
    answers: [],
    method: 'GET',
    path: '/held',
    access: open,
    summary: '',
    handle: ({ signal }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        held = { signal, answer: () => resolve({ answered: true }) }
      }),
  }),
]

let server: Server
let port: number

before(async () => {
  const users: Record<string, Awaited<ReturnType<typeof hashPassword>>> = {}
  for (const name of ['admin', 'reader', 'guest', 'svc_system']) users[name] = await hashPassword('pw')
  const security = createSecurity(settings, {
    current: () => ({
      version: 1,
      authenticators: { a: users },
      authorizers: {
        z: {
          users: { admin: ['all'], reader: ['reader'], svc_system: ['all'] },
          roles: {
            all: everything,
            reader: [
              { resource: { type: 'STATE', name: 'STATE' }, action: 'READ' },
              { resource: { type: 'DATASOURCE', name: 'wiki.*' }, action: 'READ' },
            ],
          },
          groupMappings: {},
        },
      },
    }),
  })
  server = createServer({ requireHostHeader: false }, createApplication({ routes, security, log, metrics }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
after(() => server.close())

const as = (user: string) => ({ Authorization: basicHeader(user, 'pw') })
const call = (path: string, more: Omit<Parameters<typeof httpRequest>[1], 'path'> = {}) =>
  httpRequest(port, { path, headers: as('admin'), ...more })
const post = (path: string, body: unknown, headers: Record<string, string> = {}, user = 'admin') =>
  call(path, {
    method: 'POST',
    body,
    headers: { ...as(user), 'Content-Type': 'application/json', ...headers },
  })
const errorOf = (answer: { json: unknown }) =>
  answer.json as { errorCode: string; errorMessage: string; context: Record<string, string> }

describe('the order of checks', () => {
  const anyUser = {}
  const wrong = { Authorization: basicHeader('admin', 'wrong') }
  const rows: readonly {
    name: string
    path: string
    method?: string
    headers: Record<string, string>
    body?: unknown
    status: number
  }[] = [
    { name: 'login before path', path: '/nowhere', headers: anyUser, status: 401 },
    { name: 'a failed login before path', path: '/nowhere', headers: wrong, status: 401 },
    { name: 'path', path: '/nowhere', headers: as('guest'), status: 404 },
    {
      name: 'path before content type',
      path: '/nowhere',
      method: 'POST',
      body: 'x',
      headers: { ...as('guest'), 'Content-Type': 'text/plain' },
      status: 404,
    },
    { name: 'login before method', path: '/things', method: 'DELETE', headers: anyUser, status: 401 },
    {
      name: 'method before permission',
      path: '/things',
      method: 'DELETE',
      headers: as('guest'),
      status: 405,
    },
    {
      name: 'method before content type',
      path: '/things',
      method: 'PUT',
      body: 'x',
      headers: { ...as('guest'), 'Content-Type': 'text/plain' },
      status: 405,
    },
    {
      name: 'login before content type',
      path: '/things',
      method: 'POST',
      body: 'x',
      headers: { 'Content-Type': 'text/plain' },
      status: 401,
    },
    {
      name: 'content type before permission',
      path: '/things',
      method: 'POST',
      body: 'x',
      headers: { ...as('guest'), 'Content-Type': 'text/plain' },
      status: 415,
    },
    {
      name: 'permission before a broken body',
      path: '/things',
      method: 'POST',
      body: '{',
      headers: { ...as('reader'), 'Content-Type': 'application/json' },
      status: 403,
    },
    {
      name: 'permission before a large body',
      path: '/things',
      method: 'POST',
      body: ['x'.repeat(2000)],
      headers: as('reader'),
      status: 403,
    },
    {
      name: 'permission before an invalid query',
      path: '/things?mode=none',
      method: 'POST',
      body: [],
      headers: as('reader'),
      status: 403,
    },
    {
      name: 'a broken body',
      path: '/things',
      method: 'POST',
      body: '{',
      headers: { ...as('admin'), 'Content-Type': 'application/json' },
      status: 400,
    },
    {
      name: 'a large body',
      path: '/things',
      method: 'POST',
      body: ['x'.repeat(2000)],
      headers: as('admin'),
      status: 413,
    },
    {
      name: 'an invalid query',
      path: '/things?mode=none',
      method: 'POST',
      body: [],
      headers: as('admin'),
      status: 400,
    },
    {
      name: 'a valid request',
      path: '/things?mode=slow',
      method: 'POST',
      body: [],
      headers: as('admin'),
      status: 200,
    },
    { name: 'an open path without login', path: '/open', headers: anyUser, status: 200 },
    { name: 'an open path with a failed login', path: '/open', headers: wrong, status: 200 },
    {
      name: 'another method on an open path requires a login',
      path: '/open',
      method: 'POST',
      headers: anyUser,
      status: 401,
    },
    { name: 'any login, if that is sufficient', path: '/mine', headers: as('guest'), status: 200 },
    { name: 'no login, if any is required', path: '/mine', headers: anyUser, status: 401 },
    { name: 'the handler decides', path: '/stated', headers: as('guest'), status: 200 },
    { name: 'an internal path as an administrator', path: '/inner', headers: as('admin'), status: 403 },
    { name: 'an internal path as a server', path: '/inner', headers: as('svc_system'), status: 200 },
    { name: 'a permission of another type', path: '/config', headers: as('reader'), status: 403 },
    { name: 'a readable datasource', path: '/things/wikipedia', headers: as('reader'), status: 200 },
    { name: 'an unreadable datasource', path: '/things/koalas', headers: as('reader'), status: 403 },
    {
      name: 'a datasource that may be read, but not written',
      path: '/things/wikipedia',
      method: 'DELETE',
      headers: as('reader'),
      status: 403,
    },
    {
      name: 'an escaped name is decoded before the check',
      path: '/things/%77iki',
      headers: as('reader'),
      status: 200,
    },
    {
      name: 'an escaped slash is part of the name',
      path: '/things/x%2Fwiki',
      headers: as('reader'),
      status: 403,
    },
    { name: 'paths are case-sensitive', path: '/OPEN', headers: as('admin'), status: 404 },
    { name: 'OPTIONS without login', path: '/things', method: 'OPTIONS', headers: anyUser, status: 401 },
    { name: 'OPTIONS with one', path: '/things', method: 'OPTIONS', headers: as('guest'), status: 405 },
    { name: 'TRACE', path: '/things', method: 'TRACE', headers: as('admin'), status: 405 },
    { name: 'an unknown method', path: '/things', method: 'PROPFIND', headers: as('admin'), status: 405 },
  ]
  for (const { name, path, method, headers, body, status } of rows) {
    it(`${name}: ${method ?? 'GET'} ${path} is ${status}`, async () => {
      const answer = await httpRequest(port, { path, method: method ?? 'GET', headers, body })
      assert.equal(answer.status, status, answer.text)
      if (status === 200) return
      const { error, errorCode, persona, category, errorMessage, context, ...others } = answer.json as Record<
        string,
        unknown
      >
      assert.equal(error, 'svcException')
      for (const text of [errorCode, persona, category, errorMessage]) assert.equal(typeof text, 'string')
      assert.equal(typeof context, 'object')
      assert.deepEqual(others, {})
    })
  }
})

describe('a failure', () => {
  const kinds: Record<keyof typeof failures, [status: number, category: string, persona: string]> = {
    invalidInput: [400, 'INVALID_INPUT', 'USER'],
    unauthorized: [401, 'UNAUTHORIZED', 'USER'],
    forbidden: [403, 'FORBIDDEN', 'USER'],
    notFound: [404, 'NOT_FOUND', 'USER'],
    methodNotAllowed: [405, 'UNSUPPORTED', 'USER'],
    conflict: [409, 'CONFLICT', 'USER'],
    tooLarge: [413, 'CAPACITY_EXCEEDED', 'USER'],
    unsupportedMediaType: [415, 'UNSUPPORTED', 'USER'],
    unavailable: [503, 'UNAVAILABLE', 'OPERATOR'],
  }
  for (const [errorCode, [status, category, persona]] of Object.entries(kinds)) {
    it(`${errorCode} is ${status} with the usual body`, async () => {
      const answer = await call(`/failure/${errorCode}`)
      assert.equal(answer.status, status)
      assert.match(answer.headers['content-type'] ?? '', /^application\/json/)
      const { message, context } = failures[errorCode as keyof typeof failures]
      const body = { error: 'svcException', errorCode, persona, category, errorMessage: message, context }
      assert.deepEqual(answer.json, body)
      assert.equal(answer.headers['www-authenticate'] !== undefined, status === 401)
      assert.equal(answer.headers['retry-after'] !== undefined, status === 503)
    })
  }

  it('that is unexpected shows only an id, under which the log has the stack', async () => {
    const answer = await call('/bug')
    assert.equal(answer.status, 500)
    const { errorMessage, context, ...rest } = errorOf(answer)
    assert.deepEqual(rest, {
      error: 'svcException',
      errorCode: 'internalServerError',
      persona: 'OPERATOR',
      category: 'RUNTIME_FAILURE',
    })
    assert.deepEqual(Object.keys(context), ['errorId'])
    assert.ok(errorMessage.includes(context.errorId as string))
    assert.doesNotMatch(answer.text, /hunter2|TypeError|application\.ts/)
    const line = log.lines.find(({ details }) => details.errorId === context.errorId)
    assert.equal(line?.level, 'error')
    assert.equal(line.details.identity, 'admin')
    assert.equal(line.details.path, '/bug')
    assert.equal(line.details.requestId, answer.headers['x-request-id'])
    assert.match(String(line.details.stack), /TypeError: the password is hunter2\n\s+at /)
  })

  it('thrown by a handler with its own status is still a bug', async () => {
    const answer = await call('/thrown')
    assert.equal(answer.status, 500)
    assert.doesNotMatch(answer.text, /upstream|hunter2/)
  })

  it('during the response closes the connection', async () => {
    await assert.rejects(call('/broken-stream'), { code: 'ECONNRESET' })
    assert.equal(
      log.lines.filter(({ details }) => details.path === '/broken-stream' && details.stack).length,
      1,
    )
  })
})

describe('an unsupported method', () => {
  const allowed: readonly [path: string, method: string, allow: string][] = [
    ['/things', 'DELETE', 'GET, POST, HEAD'],
    ['/things/x', 'POST', 'GET, DELETE, HEAD'],
    ['/bodiless', 'GET', 'POST'],
    ['/bodiless', 'HEAD', 'POST'],
  ]
  for (const [path, method, allow] of allowed) {
    it(`${method} ${path} returns the supported methods`, async () => {
      const answer = await call(path, { method })
      assert.equal(answer.status, 405)
      assert.equal(answer.headers.allow, allow)
    })
  }
})

describe('logins', () => {
  it('are counted by outcome, and only if one was required', async () => {
    const counted = async () => {
      const { text } = await metrics.text()
      const found = text.matchAll(/^svc_logins_total\{outcome="(\w+)"\} (\d+)/gm)
      return new Map([...found].map(([, outcome, count]) => [outcome, Number(count)]))
    }
    const before = await counted()
    await call('/things')
    await call('/things', { headers: as('nobody') })
    await call('/things', { method: 'HEAD', headers: as('nobody') })
    await call('/things', { headers: {} })
    await call('/open', { headers: as('nobody') })
    const after = await counted()
    const grown = [...after].map(([outcome, count]) => [outcome, count - (before.get(outcome) ?? 0)])
    assert.deepEqual(Object.fromEntries(grown), { accepted: 1, refused: 2, throttled: 0, unavailable: 0 })
  })
})

describe('HEAD', () => {
  it('answers like GET, without the body', async () => {
    const [get, head] = await Promise.all([call('/things'), call('/things', { method: 'HEAD' })])
    assert.equal(head.status, 200)
    assert.equal(head.text, '')
    for (const name of ['content-type', 'content-length']) assert.equal(head.headers[name], get.headers[name])
  })

  it('requires the login and permission of GET', async () => {
    assert.equal((await call('/things', { method: 'HEAD', headers: {} })).status, 405)
    assert.equal((await call('/things', { method: 'HEAD', headers: as('guest') })).status, 403)
  })
})

describe('a body', () => {
  const accepted: readonly [name: string, type: string, body: unknown][] = [
    ['JSON', 'application/json', { a: [1, null] }],
    ['JSON with a charset', 'application/json; charset=utf-8', ['ü']],
    ['JSON in other case', 'Application/JSON', []],
    ['a kind of JSON', 'application/vnd.api+json', { kind: true }],
    ['a plain string', 'application/json', '"text"'],
    ['a plain number', 'application/json', '17'],
    ['null', 'application/json', 'null'],
    ['a limit of 64 bits', 'application/json', '{"maxTotalRows":9223372036854775807}'],
    ['a name that is special to JavaScript', 'application/json', '{"__proto__":{"a":1},"constructor":2}'],
  ]
  for (const [name, type, body] of accepted) {
    it(`may be ${name}`, async () => {
      const answer = await post('/things', body, { 'Content-Type': type })
      assert.equal(answer.status, 200, answer.text)
      const sent = typeof body === 'string' ? body : JSON.stringify(body)
      assert.equal(answer.text, `{"body":${sent},"mode":"fast"}`)
    })
  }

  const refused: readonly [
    name: string,
    body: unknown,
    headers: Record<string, string>,
    status: number,
    message: RegExp,
  ][] = [
    ['malformed', '{"a":', {}, 400, /^The body is not valid JSON$/],
    ['JSON and more', '{} {}', {}, 400, /^The body is not valid JSON$/],
    ['empty', '', {}, 400, /^The request has no body; expected a JSON document$/],
    ['text', 'x', { 'Content-Type': 'text/plain' }, 415, /^Unsupported content type \[text\/plain\]/],
    ['a form', 'a=1', { 'Content-Type': 'application/x-www-form-urlencoded' }, 415, /^Unsupported/],
    ['nearly JSON', '{}', { 'Content-Type': 'application/jsonp' }, 415, /^Unsupported/],
    ['of an empty content type', '{}', { 'Content-Type': '' }, 415, /^Unsupported content type \[\]/],
    ['in another charset', '{}', { 'Content-Type': 'application/json; charset=iso-8859-1' }, 415, /encoding/],
    ['in an unknown encoding', '{}', { 'Content-Encoding': 'zstandard' }, 415, /encoding/],
    [
      'not in gzip as its header says',
      '{}',
      { 'Content-Encoding': 'gzip' },
      400,
      /does not match the header/,
    ],
    [
      'one byte too long',
      JSON.stringify('x'.repeat(999)),
      {},
      413,
      /larger than the limit of \[1000\] bytes$/,
    ],
  ]
  for (const [name, body, headers, status, message] of refused) {
    it(`that is ${name} is ${status}`, async () => {
      const answer = await post('/things', body, headers)
      assert.equal(answer.status, status, answer.text)
      assert.match(errorOf(answer).errorMessage, message)
    })
  }

  it('without a content type is 415', async () => {
    const answer = await call('/things', { method: 'POST', body: Buffer.from('{}') })
    assert.equal(answer.status, 415)
  })

  it('of exactly the maximum length is read', async () => {
    assert.equal((await post('/things', JSON.stringify('x'.repeat(998)))).status, 200)
  })

  it('that is compressed is read, and its limit applies to the decompressed bytes', async () => {
    const small = await post('/things', gzipSync('{"a":1}'), { 'Content-Encoding': 'gzip' })
    assert.deepEqual(small.json, { body: { a: 1 }, mode: 'fast' })
    // 100 MB that arrive as 100 kB: they must not all be decompressed before the body is rejected.
    const bomb = gzipSync(Buffer.alloc(100_000_000, ' '))
    const startedAt = process.memoryUsage().arrayBuffers
    const large = await post('/things', bomb, { 'Content-Encoding': 'gzip' })
    assert.equal(large.status, 413)
    assert.ok(process.memoryUsage().arrayBuffers - startedAt < 50_000_000)
  })

  const encodings = [
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const
  for (const [encoding, compress] of encodings) {
    it(`that is compressed with ${encoding} is read, and its limit applies to the decompressed bytes`, async () => {
      const headers = { 'Content-Encoding': encoding }
      assert.deepEqual((await post('/things', compress('{"a":1}'), headers)).json, {
        body: { a: 1 },
        mode: 'fast',
      })
      const bomb = compress(Buffer.alloc(20_000_000, ' '))
      assert.equal((await post('/things', bomb, headers)).status, 413)
    })
  }

  const notUtf8: readonly [name: string, bytes: readonly number[]][] = [
    ['an overlong form', [0xc0, 0x80]],
    ['an overlong slash', [0xe0, 0x80, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a lone continuation byte', [0x80]],
    ['an unfinished character', [0xe2, 0x82]],
    ['a character beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
    ['Latin-1', [0xfc]],
  ]
  for (const [name, bytes] of notUtf8) {
    it(`with ${name} instead of valid UTF-8 is 400`, async () => {
      const answer = await post('/things', Buffer.from([0x22, ...bytes, 0x22]))
      assert.equal(answer.status, 400)
      assert.equal(errorOf(answer).errorMessage, 'The body is not valid UTF-8')
    })
  }

  it('may have a byte order mark', async () => {
    assert.deepEqual((await post('/things', Buffer.from('\ufeff{"a":1}'))).json, {
      body: { a: 1 },
      mode: 'fast',
    })
  })

  const costly: readonly [name: string, body: string, status: number, message: RegExp][] = [
    ['values', `[${Array(1000).fill(1)}]`, 413, /too many values: expected at most \[1000\]/],
    [
      'field names',
      JSON.stringify(Object.fromEntries(Array.from({ length: 60 }, (_, index) => [index, 1]))),
      413,
      /too many different field names: expected at most \[50\]/,
    ],
    ['levels', '['.repeat(101), 400, /nested too deeply: expected at most \[100\] levels/],
    ['digits in a number', '1'.repeat(1001), 400, /a number has more than \[1000\] digits/],
    ['bytes in a name', `{"${'n'.repeat(4097)}":1}`, 400, /field name is longer than \[4096\] bytes/],
  ]
  for (const [name, body, status, message] of costly) {
    it(`with too many ${name} is ${status}`, async () => {
      const answer = await post('/submitted', body)
      assert.equal(answer.status, status)
      assert.match(errorOf(answer).errorMessage, message)
    })
  }

  it('must be short unless the caller has a permission that the route may require', async () => {
    const ofLength = (length: number) => JSON.stringify('x'.repeat(length - 2))
    const postAs = (user: string, body: string) => post('/submitted', body, as(user))
    assert.equal((await postAs('guest', ofLength(65_536))).status, 200)
    const refused = await postAs('guest', ofLength(65_537))
    assert.equal(refused.status, 403)
    assert.equal(
      errorOf(refused).errorMessage,
      'A body of more than [65536] bytes requires the permission [WRITE] on at least one [DATASOURCE]',
    )
    // This route requires WRITE.
    assert.equal((await postAs('reader', ofLength(65_537))).status, 403)
    assert.equal((await postAs('admin', ofLength(1024 * 1024))).status, 200)
  })

  it('that is rejected returns its share of the budget', async () => {
    // More than one caller may send at the same time.
    for (let round = 0; round < 60; round++) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) => post('/submitted', index % 2 === 0 ? '"bad"' : '{')),
      )
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [400])
    }
    assert.equal((await post('/submitted', '{}')).status, 200)
  })

  it('that is chunked without a length is also limited', async () => {
    const answer = await httpRequest(port, {
      method: 'POST',
      path: '/things',
      headers: { ...as('admin'), 'Content-Type': 'application/json' },
      pieces: [...Array(50).fill(' '.repeat(100)), '1'],
    })
    assert.equal(answer.status, 413)
  })

  it('is optional if the route says so', async () => {
    assert.deepEqual((await call('/optional', { method: 'POST' })).json, { body: 'nothing' })
    assert.deepEqual((await post('/optional', [1])).json, { body: [1] })
  })

  it('is not required if the route has none', async () => {
    const answer = await call('/bodiless', { method: 'POST' })
    assert.equal(answer.status, 200)
    assert.equal(answer.text, '')
  })
})

describe('a path', () => {
  for (const path of ['/things/%', '/things/%zz', '/things/%E0%A4%A', '/things/%ff']) {
    it(`${path} with invalid encoding is 400`, async () => {
      const answer = await call(path)
      assert.equal(answer.status, 400, answer.text)
      assert.match(errorOf(answer).errorMessage, /percent-encoded/)
    })
  }

  it('with a literal name has precedence over one with a parameter', async () => {
    assert.deepEqual((await call('/things/special')).json, 'the special one')
    assert.deepEqual((await call('/things/specials')).json, { named: 'specials' })
  })

  for (const name of ['a b', 'ü', '__proto__', 'constructor', 'a..%2f', 'a?b', 'a%00b', 'a...']) {
    it(`may contain the name [${name}]`, async () => {
      assert.deepEqual((await call(`/things/${encodeURIComponent(name)}`)).json, { named: name })
    })
  }

  for (const path of [
    '/things/a%00b',
    '/things/%C2%85',
    '/things?a=b%00',
    '/things?a=1&a=%1b',
    '/things?%00=1',
  ]) {
    it(`${path} with a control character is 400`, async () => {
      const answer = await call(path)
      assert.equal(answer.status, 400, answer.text)
      assert.match(
        errorOf(answer).errorMessage,
        /^Invalid value \[.*\] for \[.+\]: expected a string without control/,
      )
      assert.equal((await call(path, { headers: as('guest') })).status, 403)
    })
  }

  for (const name of ['%c3%bc%2f%c3%b6', 'a%2f..%2fb', 'a%2Fb', '%20', '.', '%2e%2e', '...', '.a']) {
    it(`cannot name the datasource [${name}]`, async () => {
      const answer = await call(`/things/${name}`)
      assert.equal(answer.status, 400)
      assert.match(
        errorOf(answer).errorMessage,
        /a non-blank name of 1 to 255 characters that does not start with \[\.\] and does not contain \[\/\]/,
      )
    })
  }

  it('in an error message cannot break its JSON', async () => {
    const answer = await call('/"}<script>')
    assert.equal(answer.status, 404)
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    assert.match(answer.headers['content-type'] ?? '', /^application\/json/)
  })
})

describe('a response', () => {
  it('may have its own status, text, and headers', async () => {
    const answer = await call('/reply')
    assert.equal(answer.status, 202)
    assert.equal(answer.text, 'some text')
    assert.equal(answer.headers['content-type'], 'text/plain')
    assert.equal(answer.headers['x-more'], 'yes')
  })

  it('may be sent in pieces', async () => {
    const answer = await call('/pieces/list')
    assert.equal(answer.text, '[1,"two",{"three":3}]')
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
    assert.equal((await call('/pieces/empty-list')).text, '[]')
    assert.equal((await call('/pieces/object')).text, '{"a":1,"b":2}')
    const head = await call('/pieces/list', { method: 'HEAD' })
    assert.deepEqual([head.status, head.text], [200, ''])
  })

  it('is generated only as fast as the caller reads it, and stops when the caller disconnects', async () => {
    Object.assign(produced, { pieces: 0, isOver: false })
    // A socket, because the test decides when it reads.
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /pieces/endless HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'readable')
    socket.pause()
    // Without reads, the buffers fill up, and the generator stops.
    const seen: number[] = []
    await waitUntil('the generator stops', () => {
      seen.push(produced.pieces)
      return seen.length > 10 && seen.slice(-10).every((pieces) => pieces === produced.pieces)
    })
    assert.ok(produced.pieces < 1000, `${produced.pieces} pieces were generated`)
    socket.destroy()
    await waitUntil('the generator ends', () => produced.isOver)
  })

  it('waits while the caller has not received 16 others, and does not delay other callers', async () => {
    const sockets = Array.from({ length: 17 }, () => {
      const socket = connect(port, '127.0.0.1')
      socket.write('GET /pieces/endless HTTP/1.1\r\nHost: x\r\n\r\n')
      return socket
    })
    const begun = () => sockets.filter(({ destroyed, readableLength }) => !destroyed && readableLength > 0)
    try {
      for (const socket of sockets) socket.once('readable', () => undefined)
      await waitUntil('16 responses begin', () => begun().length >= 16)
      assert.deepEqual((await call('/kept-pieces')).json, [1])
      assert.equal(begun().length, 16)
      begun()[0]!.destroy()
      await waitUntil('the last response begins', () => begun().length >= 16)
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  })

  it('that fails is an error before the first piece, and cut off after it', async () => {
    const first = await call('/pieces/failing-first')
    assert.equal(first.status, 404)
    assert.match(first.text, /Nothing more/)
    await assert.rejects(call('/pieces/failing-late'))
  })

  it('may be empty, or written by the handler', async () => {
    assert.equal((await call('/empty')).status, 204)
    assert.equal((await call('/stream')).text, 'streamed')
  })

  it('has the id of the request, or a new one if that is invalid', async () => {
    const given = await call('/open', { headers: { 'X-Request-Id': 'abc-1_2' } })
    assert.equal(given.headers['x-request-id'], 'abc-1_2')
    for (const id of ['a b', 'x'.repeat(65), '"}', '']) {
      const produced = await call('/open', { headers: { 'X-Request-Id': id } })
      assert.match(String(produced.headers['x-request-id']), /^[\da-f-]{36}$/)
    }
  })

  it('does not reveal the software, and is not cached', async () => {
    const { headers } = await call('/open')
    assert.equal(headers['x-powered-by'], undefined)
    assert.equal(headers.etag, undefined)
    assert.equal(headers['cache-control'], 'no-store')
  })

  it('decodes headers in UTF-8 and Latin-1, and escapes everything else', async () => {
    const utf8 = (text: string) => Buffer.from(text).toString('latin1')
    const headers = { ...as('reader'), 'X-Svc-Author': utf8('Jörg ß 🐨'), 'X-Svc-Comment': 'ü\x85\t' }
    const { author, comment } = (await call('/mine', { headers })).json as Record<string, string>
    assert.deepEqual([author, comment], ['Jörg ß 🐨', 'ü\\u0085'])
    const cut = { ...as('reader'), 'X-Svc-Comment': utf8(`${'x'.repeat(1023)}🐨`) }
    assert.equal(
      ((await call('/mine', { headers: cut })).json as Record<string, string>).comment,
      'x'.repeat(1023),
    )
  })

  it('contains the author, comment, identity, and address of the caller', async () => {
    const answer = await call('/mine', {
      headers: { ...as('reader'), 'X-Svc-Author': 'Ann', 'X-Svc-Comment': 'x'.repeat(2000) },
    })
    assert.deepEqual(answer.json, {
      author: 'Ann',
      comment: 'x'.repeat(1024),
      identity: 'reader',
      ip: '127.0.0.1',
    })
    const bare = await call('/mine')
    assert.deepEqual(bare.json, { author: '', comment: '', identity: 'admin', ip: '127.0.0.1' })
  })
})

// Sockets, because the callers disconnect.
describe('a disconnected caller', () => {
  it('aborts the signal of the handler', async () => {
    held = undefined
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /held HTTP/1.1\r\nHost: x\r\n\r\n')
    const { signal } = await waitUntil('the handler runs', () => held as unknown as NonNullable<typeof held>)
    assert.equal(signal.aborted, false)
    socket.destroy()
    await waitUntil('the signal is aborted', () => signal.aborted)
  })

  it('is not logged as an error', async () => {
    held = undefined
    const before = log.lines.length
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /held HTTP/1.1\r\nHost: x\r\n\r\n')
    await waitUntil('the handler runs', () => held !== undefined)
    socket.destroy()
    await waitUntil('it is logged', () =>
      log.lines.slice(before).some(({ message }) => message.startsWith('Caller disconnected')),
    )
    assert.ok(!log.lines.slice(before).some(({ level }) => level === 'error'))
  })

  it('does not abort the signal while the caller is still waiting', async () => {
    held = undefined
    const answer = call('/held')
    const { signal, answer: release } = await waitUntil(
      'the handler runs',
      () => held as unknown as NonNullable<typeof held>,
    )
    assert.equal(signal.aborted, false)
    release()
    assert.deepEqual((await answer).json, { answered: true })
  })
})

describe('an application', () => {
  const security = createSecurity(testSettings('router'), { current: () => ({ missing: '' }) })
  const answering = (method: Route['method'], path: string) =>
    route({ answers: [], method, path, access: open, summary: '', handle: () => undefined })

  it('cannot have two routes for one method of a path', () => {
    const twice = [answering('GET', '/a/:b'), answering('POST', '/a/:b'), answering('GET', '/a/:b')]
    assert.throws(() => createApplication({ routes: twice, security, log, metrics }), {
      message: 'Two routes have the same method and path: GET /a/:b',
    })
  })

  it('cannot have two paths that differ only in the name of a parameter', () => {
    const twice = [answering('GET', '/a/:b'), answering('POST', '/a/:c')]
    assert.throws(() => createApplication({ routes: twice, security, log, metrics }), /\/a\/:b.*\/a\/:c/)
  })

  it('passes requests without a route to its fallback, after the login', async (context) => {
    const seen: string[] = []
    const options = {
      routes: [answering('GET', '/own')],
      security: createSecurity(testSettings('router'), { current: () => ({ missing: '' }) }),
      log,
      metrics,
      fallback: async (
        request: { url: string },
        response: { end(text: string): void },
        caller: { identity: string },
      ) => {
        seen.push(`${caller.identity} ${request.url}`)
        response.end('from elsewhere')
      },
    }
    const other = createServer(createApplication(options))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    context.after(() => other.close())
    const otherPort = (other.address() as AddressInfo).port
    assert.equal((await httpRequest(otherPort, { path: '/own' })).text, '')
    assert.equal((await httpRequest(otherPort, { path: '/else/%zz?a=%zz' })).text, 'from elsewhere')
    assert.deepEqual(seen, ['allowAll /else/%zz?a=%zz'])
  })

  it('logs and records only the beginning of a long path', async (context) => {
    const own = recordingLogger()
    const calls: Call[] = []
    const noted = { journal: { add: (one: Call) => calls.push(one) }, name: () => 'this', user: () => '' }
    const other = createServer(createApplication({ routes: [], security, log: own, metrics, calls: noted }))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    context.after(() => other.close())
    await httpRequest((other.address() as AddressInfo).port, {
      method: 'POST',
      path: `/${'a'.repeat(9000)}`,
      headers: { 'X-Svc-From': 'b'.repeat(5000) },
    })
    await waitUntil(
      'the request is recorded',
      async () => calls,
      ({ length }) => length === 1,
    )
    assert.deepEqual([calls[0]!.path.length, calls[0]!.from.length], [1000, 1000])
    const [line] = own.having('Handled request')
    assert.equal((line!.details as { path: string }).path.length, 1000)
  })

  it('returns 503 instead of 401 until users are loaded', async (context) => {
    const starting = createSecurity(settings, {
      current: () => ({ missing: 'The users are not loaded yet' }),
    })
    const other = createServer(createApplication({ routes: [], security: starting, log, metrics }))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    context.after(() => other.close())
    const answer = await httpRequest((other.address() as AddressInfo).port, {
      path: '/',
      headers: as('admin'),
    })
    assert.equal(answer.status, 503)
    assert.equal(errorOf(answer).errorMessage, 'The users are not loaded yet')
  })
})

describe('an ambiguous request', () => {
  const rows: readonly [name: string, text: string, message: RegExp][] = [
    ['two hosts', 'GET /open HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', /more than one \[Host\] header/],
    [
      'the same host twice',
      'GET /open HTTP/1.1\r\nHost: a\r\nhOST: a\r\n\r\n',
      /more than one \[Host\] header/,
    ],
    [
      'two logins',
      'GET /open HTTP/1.1\r\nHost: a\r\nAuthorization: Basic YTph\r\nAuthorization: Basic Yjpi\r\n\r\n',
      /more than one \[Authorization\] header/,
    ],
    ['a host with a blank', 'GET /open HTTP/1.1\r\nHost: a b\r\n\r\n', /Invalid \[Host\] header/],
    ['no host', 'GET /open HTTP/1.1\r\n\r\n', /no \[Host\] header/],
    ['version 0.9', 'GET /open HTTP/0.9\r\nHost: a\r\n\r\n', /Unsupported HTTP version \[0.9\]/],
    ['no version', 'GET /open\r\n\r\n', /Unsupported HTTP version \[0.9\]/],
    ['version 2.0', 'GET /open HTTP/2.0\r\nHost: a\r\n\r\n', /Unsupported HTTP version \[2.0\]/],
  ]
  for (const [name, text, message] of rows) {
    it(`with ${name} is 400, and closes its connection`, async () => {
      const socket = connect(port, '127.0.0.1')
      socket.write(text)
      let answer = ''
      for await (const chunk of socket) answer += chunk
      assert.match(answer, /^HTTP\/1\.1 400 /)
      assert.match(answer, message)
    })
  }

  it('with version 1.0 is accepted', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /open HTTP/1.0\r\n\r\n')
    let answer = ''
    for await (const chunk of socket) answer += chunk
    assert.match(answer, /^HTTP\/1\.1 200 /)
  })
})
