// Bad input is refused everywhere with the right status and error format and a helpful message, and changes
// nothing. There is a table of single cases, and all endpoints of all servers get requests that do not fit them.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { sql } from '@svc/shared/postgres'
import type { Answer, SentRequest } from '@svc/shared/testing'
import { assertError, messageOf } from './support/error-answer.ts'
import { flightsTask } from './support/flights.ts'
import { logEntries } from './support/log-entries.ts'
import { sendRaw } from './support/raw-request.ts'
import { type Endpoint, fillPath, loadRouteTables } from './support/route-tables.ts'
import { runSvc } from './support/svc-command.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'

const taskLimitBytes = 2 * 1024 * 1024
const rulesLimitBytes = 2 * 1024 * 1024

const cluster = await startTestCluster({
  profile: 'plain',
  instances: 'worker=1',
  set: [`overlord.svc.request.maxTaskSize=${taskLimitBytes}`],
})
after(() => cluster.end())
const tables = await loadRouteTables()

/** Everything that a request could change. */
async function everything(): Promise<unknown> {
  const { store } = cluster
  return {
    rules: await store.query(sql`SELECT datasource, rules FROM rules ORDER BY datasource`),
    // The refusal itself is audited too, which changes nothing.
    audit: await store.query(sql`SELECT * FROM audit WHERE type NOT LIKE 'security.%' ORDER BY id`),
    tasks: await store.query(sql`SELECT id, state FROM tasks ORDER BY id`),
    segments: await store.query(sql`SELECT id, used FROM segments ORDER BY id`),
    configs: await store.query(sql`SELECT name, value FROM dynamic_configs ORDER BY name`),
  }
}

interface Case {
  readonly name: string
  readonly request: SentRequest
  readonly status: number
  /** What the message must name: the field, the value, and what is expected. */
  readonly names?: readonly string[]
}

const rules = '/svc/coordinator/v1/rules/wikipedia'
const history = `${rules}/history`
const task = '/svc/indexer/v1/task'
const jsonType = { 'content-type': 'application/json' }

const postText = (
  path: string,
  text: string | Buffer,
  headers: Record<string, string> = jsonType,
): SentRequest => ({
  method: 'POST',
  path,
  text,
  headers,
})
const postRules = (json: unknown): SentRequest => ({ method: 'POST', path: rules, json })
const postTask = (json: unknown): SentRequest => ({ method: 'POST', path: task, json })

/** The valid task with another value at a path such as `spec.ioConfig.type`; undefined removes the field. */
function taskWith(path: string, value: unknown): SentRequest {
  const task = structuredClone(flightsTask()) as Record<string, unknown>
  const names = path.split('.')
  const last = names.pop()!
  const parent = names.reduce((part, name) => part[name] as Record<string, unknown>, task)
  parent[last] = value
  return postTask(task)
}

const deeply = (depth: number, open: string, close: string): string =>
  open.repeat(depth) + close.repeat(depth)
const padded = (text: string, sizeBytes: number): string => text + ' '.repeat(sizeBytes - text.length)
/** A list of rules of exactly this size. The first rule is invalid. */
function invalidRules(sizeBytes: number): string {
  const long = Array(Math.floor(sizeBytes / 100_010)).fill('x'.repeat(100_000))
  return padded(JSON.stringify([{ type: 'nope' }, ...long]), sizeBytes)
}

const ruleCases: Case[] = [
  { name: 'malformed', request: postText(rules, '[{"type":'), status: 400, names: ['not valid JSON'] },
  { name: 'empty', request: postText(rules, ''), status: 400, names: ['no body'] },
  { name: 'blank', request: postText(rules, ' \n'), status: 400, names: ['not valid JSON'] },
  { name: 'null', request: postRules(null), status: 400, names: ['rules', '[null]', 'a list of rules'] },
  { name: 'a string', request: postRules('x'), status: 400, names: ['rules', '[x]', 'a list of rules'] },
  { name: 'a number', request: postRules(7), status: 400, names: ['rules', '[7]', 'a list of rules'] },
  {
    name: 'an object',
    request: postRules({ type: 'loadForever' }),
    status: 400,
    names: ['rules', 'a list of rules'],
  },
  {
    name: 'null in the list',
    request: postRules([null]),
    status: 400,
    names: ['rules[0]', '[null]', 'an object'],
  },
  {
    name: 'a nested list',
    request: postRules([[]]),
    status: 400,
    names: ['rules[0]', '[[]]', 'an object'],
  },
  {
    name: 'no type',
    request: postRules([{}]),
    status: 400,
    names: ['rules[0].type', 'Missing value', 'loadForever'],
  },
  {
    name: 'an unknown type',
    request: postRules([{ type: 'loadForever' }, { type: 'loadSometimes' }]),
    status: 400,
    names: ['rules[1].type', '[loadSometimes]', 'broadcastByInterval'],
  },
  {
    name: 'a type of the wrong type',
    request: postRules([{ type: 1 }]),
    status: 400,
    names: ['rules[0].type', '[1]'],
  },
  {
    name: 'a type that is a property name of every object',
    request: postRules([{ type: 'constructor' }]),
    status: 400,
    names: ['rules[0].type', '[constructor]'],
  },
  {
    name: 'an unknown field',
    request: postRules([{ type: 'dropForever', colour: 'red' }]),
    status: 400,
    names: ['rules[0].colour', '[red]', 'type'],
  },
  {
    name: 'a field of another type of rule',
    request: postRules([{ type: 'loadForever', period: 'P1M' }]),
    status: 400,
    names: ['rules[0].period', '[P1M]', 'tieredReplicants'],
  },
  {
    name: 'a period of the wrong type',
    request: postRules([{ type: 'dropByPeriod', period: 30 }]),
    status: 400,
    names: ['rules[0].period', '[30]', 'P1M'],
  },
  {
    name: 'an invalid period',
    request: postRules([{ type: 'dropByPeriod', period: 'P' }]),
    status: 400,
    names: ['rules[0].period', '[P]'],
  },
  {
    name: 'an absurdly long period',
    request: postRules([{ type: 'dropByPeriod', period: `P${'9'.repeat(400)}Y` }]),
    status: 400,
    names: ['rules[0].period'],
  },
  {
    name: 'an interval that ends before it starts',
    request: postRules([{ type: 'loadByInterval', interval: '2026-02-01/2026-01-01' }]),
    status: 400,
    names: ['rules[0].interval', '2026-02-01/2026-01-01'],
  },
  {
    name: 'a day that does not exist',
    request: postRules([{ type: 'loadByInterval', interval: '2026-02-30/2026-03-01' }]),
    status: 400,
    names: ['rules[0].interval', '2026-02-30'],
  },
  {
    name: 'a string for a flag',
    request: postRules([{ type: 'dropByPeriod', period: 'P1D', includeFuture: 'yes' }]),
    status: 400,
    names: ['rules[0].includeFuture', '[yes]', 'true or false'],
  },
  {
    name: 'replicants as a list',
    request: postRules([{ type: 'loadForever', tieredReplicants: [1] }]),
    status: 400,
    names: ['rules[0].tieredReplicants', '[[1]]'],
  },
  ...[-1, 1.5, 2 ** 31, '2', null, true, {}].map((count) => ({
    name: `${JSON.stringify(count)} replicants`,
    request: postRules([{ type: 'loadForever', tieredReplicants: { hot: count } }]),
    status: 400,
    names: ['rules[0].tieredReplicants.hot', 'an integer from 0 to 2147483647'],
  })),
  {
    name: 'an overflowing number of replicants',
    request: postText(rules, '[{"type":"loadForever","tieredReplicants":{"hot":1e999}}]'),
    status: 400,
    names: ['rules[0].tieredReplicants.hot'],
  },
  {
    name: 'a tier without a name',
    request: postRules([{ type: 'loadForever', tieredReplicants: { ' ': 1 } }]),
    status: 400,
    names: ['tieredReplicants', 'tier name'],
  },
  {
    name: 'a tier named __proto__',
    request: postText(rules, '[{"type":"loadForever","tieredReplicants":{"__proto__":1}}]'),
    status: 400,
    names: ['tieredReplicants', '[__proto__]'],
  },
  {
    name: 'a very long tier name',
    request: postRules([{ type: 'loadForever', tieredReplicants: { ['t'.repeat(256)]: 1 } }]),
    status: 400,
    names: ['tieredReplicants', '255'],
  },
  {
    name: 'too many rules',
    request: postText(rules, `[${Array(10_001).fill('{"type":"dropForever"}').join(',')}]`),
    status: 400,
    names: ['[10001]', '10000'],
  },
  { name: 'lists nested 250,000 deep', request: postText(rules, deeply(250_000, '[', ']')), status: 400 },
  {
    name: 'objects nested 100,000 deep',
    request: postText(
      rules,
      `[{"type":"loadForever","tieredReplicants":{"hot":${deeply(100_000, '{"a":', '}').replace('}', '1}')}}]`,
    ),
    status: 400,
  },
  {
    name: 'invalid rules of exactly the maximum size',
    request: postText(rules, invalidRules(rulesLimitBytes)),
    status: 400,
    names: ['[nope]'],
  },
  {
    name: 'one byte over the maximum size',
    request: postText(rules, invalidRules(rulesLimitBytes + 1)),
    status: 413,
    names: [String(rulesLimitBytes)],
  },
  {
    name: 'a small body that decompresses to a large one',
    request: postText(rules, gzipSync(invalidRules(8 * rulesLimitBytes)), {
      ...jsonType,
      'content-encoding': 'gzip',
    }),
    status: 413,
    names: [String(rulesLimitBytes)],
  },
  {
    name: 'a body that does not match its encoding',
    request: postText(rules, '[]', { ...jsonType, 'content-encoding': 'gzip' }),
    status: 400,
  },
  {
    name: 'an unknown content encoding',
    request: postText(rules, '[]', { ...jsonType, 'content-encoding': 'rot13' }),
    status: 415,
    names: ['encoding'],
  },
  {
    name: 'invalid UTF-8',
    request: postText(rules, Buffer.from([0x5b, 0xff, 0xfe, 0x5d])),
    status: 400,
  },
  {
    name: 'a datasource name of 256 characters',
    request: { method: 'POST', path: `/svc/coordinator/v1/rules/${'d'.repeat(256)}`, json: [] },
    status: 400,
    names: ['datasource name', '255'],
  },
  {
    name: 'a blank datasource name',
    request: { method: 'POST', path: '/svc/coordinator/v1/rules/%20%09', json: [] },
    status: 400,
    names: ['dataSource'],
  },
  {
    name: 'a datasource name with a null byte',
    request: { method: 'POST', path: '/svc/coordinator/v1/rules/a%00b', json: [] },
    status: 400,
    names: ['dataSource', 'control characters'],
  },
  {
    name: 'empty cluster default rules',
    request: { method: 'POST', path: '/svc/coordinator/v1/rules/_default', json: [] },
    status: 400,
    names: ['_default', 'at least one rule'],
  },
]

const contentTypeCases: Case[] = [rules, task].flatMap((path) =>
  [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    '*/*',
  ].map((type) => ({
    name: `${type} to ${path}`,
    request: postText(path, '[]', { 'content-type': type }),
    status: 415,
    names: [type, 'application/json'],
  })),
)

const queryCases: Case[] = [
  ...['0', '-1', 'x', '1.5', '', '1e3', '99999999999999999999'].map((count) => ({
    name: `count ${count}`,
    request: { path: `${history}?count=${count}` },
    status: 400,
    names: ['count', `[${count}]`, 'integer'],
  })),
  ...['abc', '2026-01-01', '2026-02-01/2026-01-01', '/', ''].map((interval) => ({
    name: `interval ${interval}`,
    request: { path: `${history}?interval=${interval}` },
    status: 400,
    names: ['interval'],
  })),
  {
    name: 'count twice',
    request: { path: `${history}?count=1&count=2` },
    status: 400,
    names: ['count', 'a single string'],
  },
  {
    name: 'interval twice',
    request: { path: `${history}?interval=2026-01-01/2026-01-02&interval=2026-01-01/2026-01-02` },
    status: 400,
    names: ['interval', 'a single string'],
  },
  {
    name: 'max of tasks',
    request: { path: '/svc/indexer/v1/tasks?max=-1' },
    status: 400,
    names: ['max', '[-1]'],
  },
  {
    name: 'state of tasks',
    request: { path: '/svc/indexer/v1/tasks?state=sleeping' },
    status: 400,
    names: ['state', 'sleeping', 'running', 'complete'],
  },
  {
    name: 'datasource of tasks twice',
    request: { path: '/svc/indexer/v1/tasks?datasource=a&datasource=b' },
    status: 400,
    names: ['datasource'],
  },
]

const pathCases: Case[] = [
  ...[
    '/svc/coordinator',
    '/svc/coordinator/v1',
    '/svc/coordinator/v1/nosuch',
    '/svc/coordinator/v2/rules',
    '/svc/indexer/v1/nosuch',
  ].map((path) => ({ name: path, request: { path }, status: 404, names: [path] })),
  { name: 'different case', request: { path: '/svc/Coordinator/v1/rules' }, status: 404 },
  { name: 'too deep', request: { path: `${rules}/history/more` }, status: 404 },
  {
    name: 'an unknown path with a body without a content type',
    request: postText('/svc/coordinator/v1/nosuch', 'x', {}),
    status: 404,
  },
  ...['%', '%zz', '%E0%A4%A', '%C3%28', '%ED%A0%80', 'a%2'].map((name) => ({
    name: `bad percent-encoding ${name}`,
    request: { path: `/svc/coordinator/v1/rules/${name}` },
    status: 400,
    names: ['percent-encoded'],
  })),
  {
    name: 'an unknown task',
    request: { path: '/svc/indexer/v1/task/nosuch/status' },
    status: 404,
    names: ['Task [nosuch]'],
  },
  {
    name: 'the log of an unknown task',
    request: { path: '/svc/indexer/v1/task/nosuch/log' },
    status: 404,
    names: ['nosuch'],
  },
  {
    name: 'shutdown of an unknown task',
    request: { method: 'POST', path: '/svc/indexer/v1/task/nosuch/shutdown' },
    status: 404,
    names: ['nosuch'],
  },
  { name: 'a task id with a null byte', request: { path: '/svc/indexer/v1/task/a%00b/status' }, status: 400 },
  {
    name: 'a task id with parent folders',
    request: { path: '/svc/indexer/v1/task/..%2F..%2Fsecrets/log' },
    status: 404,
  },
]

const methodCases: Case[] = [
  {
    name: 'DELETE of rules',
    request: { method: 'DELETE', path: rules },
    status: 405,
    names: ['DELETE', 'GET', 'POST'],
  },
  { name: 'PUT of rules', request: { method: 'PUT', path: rules, json: [] }, status: 405, names: ['PUT'] },
  {
    name: 'PATCH of rules',
    request: { method: 'PATCH', path: rules, json: [] },
    status: 405,
    names: ['PATCH'],
  },
  { name: 'GET of the task endpoint', request: { path: task }, status: 405, names: ['GET', 'POST'] },
  {
    name: 'POST of history',
    request: { method: 'POST', path: history, json: [] },
    status: 405,
    names: ['POST'],
  },
]

const taskCases: Case[] = [
  { name: 'malformed', request: postText(task, '{"type":'), status: 400, names: ['not valid JSON'] },
  { name: 'empty', request: postText(task, ''), status: 400, names: ['no body'] },
  { name: 'null', request: postTask(null), status: 400 },
  { name: 'a list', request: postTask([]), status: 400 },
  { name: 'an empty object', request: postTask({}), status: 400, names: ['type'] },
  {
    name: 'an unknown type',
    request: taskWith('type', 'index_hadoop'),
    status: 400,
    names: ['type', 'index_hadoop', 'index_parallel'],
  },
  {
    name: 'no spec',
    request: taskWith('spec', undefined),
    status: 400,
    names: ['spec'],
  },
  {
    name: 'an unknown field',
    request: taskWith('spec.ioConfig.firehose', {}),
    status: 400,
    names: ['ioConfig', 'firehose'],
  },
  ...[null, '', ' ', 7, 'a/b', 'a\u0000b', 'x'.repeat(256)].map((name) => ({
    name: `datasource ${JSON.stringify(name).slice(0, 20)}`,
    request: taskWith('spec.dataSchema.dataSource', name),
    status: 400,
    names: ['dataSource'],
  })),
  {
    name: 'an unknown granularity',
    request: taskWith('spec.dataSchema.granularitySpec.segmentGranularity', 'FORTNIGHT'),
    status: 400,
    names: ['segmentGranularity', 'FORTNIGHT', 'DAY'],
  },
  {
    name: 'an unknown source',
    request: taskWith('spec.ioConfig.inputSource', { type: 's3' }),
    status: 400,
    names: ['inputSource', 's3', 'inline'],
  },
  ...['/etc', '/', '../../..', 'data/../..'].map((baseDir) => ({
    name: `input files in ${baseDir}`,
    request: taskWith('spec.ioConfig.inputSource.baseDir', baseDir),
    status: 400,
    names: ['baseDir', baseDir],
  })),
  {
    name: 'a file outside the allowed roots',
    request: taskWith('spec.ioConfig.inputSource', { type: 'local', files: ['/etc/passwd'] }),
    status: 400,
    names: ['files', '/etc/passwd'],
  },
  ...['http://127.0.0.1:1/x', 'file:///etc/passwd', 'nonsense'].map((uri) => ({
    name: `an input URI ${uri}`,
    request: taskWith('spec.ioConfig.inputSource', { type: 'http', uris: [uri] }),
    status: 400,
    names: ['uris', uri],
  })),
  {
    name: 'an unknown format',
    request: taskWith('spec.ioConfig.inputFormat', { type: 'avro' }),
    status: 400,
    names: ['inputFormat', 'avro', 'csv'],
  },
  {
    name: 'hashed partitions',
    request: taskWith('spec.tuningConfig.partitionsSpec', { type: 'hashed' }),
    status: 400,
    names: ['partitionsSpec', 'hashed', 'dynamic'],
  },
  {
    name: 'a priority that is not a number',
    request: taskWith('context', { priority: 'high' }),
    status: 400,
    names: ['priority', 'high'],
  },
  {
    name: 'a long id',
    request: taskWith('id', 'i'.repeat(256)),
    status: 400,
    names: ['id'],
  },
  {
    name: 'a context 100,000 levels deep',
    request: postText(
      task,
      JSON.stringify({ ...flightsTask(), context: 'DEEP' }).replace(
        '"DEEP"',
        deeply(100_000, '{"a":', '}').replace('}', '1}'),
      ),
    ),
    status: 400,
  },
  {
    name: 'a task over the maximum size',
    request: postText(task, padded('{}', taskLimitBytes + 1)),
    status: 413,
    names: [String(taskLimitBytes)],
  },
]

const roleOf = ({ path }: SentRequest): string =>
  path.startsWith('/svc/indexer') ? 'overlord' : 'coordinator'

let atFirst: unknown
before(async () => {
  atFirst = await everything()
})

for (const [subject, cases] of Object.entries({
  rules: ruleCases,
  'content types': contentTypeCases,
  'query parameters': queryCases,
  paths: pathCases,
  methods: methodCases,
  tasks: taskCases,
})) {
  describe(subject, () => {
    for (const { name, request, status, names = [] } of cases) {
      test(`${name}: ${status}`, async () => {
        for (const instance of [roleOf(request), 'router']) {
          const answer = await cluster.at(instance).send(request)
          assertError(answer, status, `at the ${instance}:`)
          for (const part of names) {
            assert.ok(
              messageOf(answer).includes(part),
              `the message does not name [${part}]: ${messageOf(answer)}`,
            )
          }
        }
      })
    }
    test('changes nothing', async () => assert.deepEqual(await everything(), atFirst))
  })
}

const instanceOf = ({ role }: Endpoint): string => (role === 'historical' ? 'historical-1' : role)

describe('all endpoints of all servers', () => {
  const offered = Map.groupBy(tables, (endpoint) => `${endpoint.role} ${endpoint.path}`)
  const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']

  test('answer unsupported methods with the supported ones', async () => {
    assert.ok(offered.size > 40, `only ${offered.size} paths`)
    for (const endpoints of offered.values()) {
      const allowed = new Set(endpoints.map(({ method }) => method as string))
      const allow = [...allowed, ...(allowed.has('GET') ? ['HEAD'] : [])]
      for (const method of methods.filter((one) => !allowed.has(one))) {
        const path = fillPath(endpoints[0]!.path)
        const answer = await cluster.at(instanceOf(endpoints[0]!)).send({ method, path })
        assertError(answer, 405, `${method} ${path}:`)
        assert.deepEqual(String(answer.headers.allow).split(', ').sort(), allow.sort(), path)
      }
    }
  })

  test('refuse bodies that are not JSON', async () => {
    for (const endpoint of tables.filter(({ method }) => method === 'POST' || method === 'PUT')) {
      const path = fillPath(endpoint.path)
      const answer = await cluster.at(instanceOf(endpoint)).send({
        ...postText(path, 'name: x', { 'content-type': 'application/yaml' }),
        method: endpoint.method,
      })
      assertError(answer, 415, `${endpoint.method} ${path}:`)
    }
  })

  const bodies = [
    '{"type":',
    'null',
    '"x"',
    '[[]]',
    '{"nosuch":{"nosuch":[]}}',
    deeply(50_000, '[', ']'),
    '\u0000',
  ]
  const queries = [
    '?interval=x&interval=y&count=x&count=y&full=%20&max=',
    '?%C3%28=%zz&=&&==&a[b][c]=1',
    '?__proto__=1&constructor=2',
  ]

  test('never fail', async () => {
    // Without a body it requests the default slots, which is a change like any other.
    const requested = tables.filter(({ method, path }) => !(method === 'POST' && path.endsWith('/taskslots')))
    for (const endpoint of requested) {
      const path = fillPath(endpoint.path)
      const at = cluster.at(instanceOf(endpoint))
      const { method } = endpoint
      const requests: SentRequest[] = queries.map((query) => ({ method, path: `${path}${query}` }))
      if (method !== 'GET') requests.push(...bodies.map((body) => ({ ...postText(path, body), method })))
      for (const request of requests) {
        const answer = await at.send(request)
        assertUnderstood(
          answer,
          `${endpoint.role}: ${method} ${request.path} ${String(request.text).slice(0, 40)}`,
        )
      }
    }
  })

  test('handle names that no file or store can contain', async () => {
    const names = [
      '%00',
      '%2e%2e',
      '%2F',
      '%5C',
      '__proto__',
      'constructor',
      '%F0%9F%90%A8',
      '%0d%0aX-Evil:%201',
      'n'.repeat(8000),
    ]
    for (const endpoint of tables.filter(({ path, method }) => path.includes(':') && method === 'GET')) {
      for (const name of names) {
        const path = endpoint.path.replace(/:\w+/g, name)
        const answer = await cluster.at(instanceOf(endpoint)).send({ path })
        assertUnderstood(answer, `${endpoint.role}: GET ${path.slice(0, 200)}`)
        assert.equal(answer.headers['x-evil'], undefined)
      }
    }
  })

  test('change nothing, and no server logs a failure of its own', async () => {
    assert.deepEqual(await everything(), atFirst)
    for (const { instance } of cluster.plan.services) {
      const failed = logEntries(cluster, instance).filter(({ message }) => message === 'Request failed')
      assert.deepEqual(failed, [], instance)
    }
  })
})

/**
 * Checks that the answer is the endpoint's own, or an error in the standard format that blames the caller.
 */
function assertUnderstood(answer: Answer, about: string): void {
  if (answer.status < 300) return
  assert.ok(answer.status < 500, `${about}: ${answer.status} ${answer.text}`)
  assertError(answer, answer.status, about)
}

describe('invalid HTTP', () => {
  const broken: Record<string, string> = {
    'no request line': 'hello\r\n\r\n',
    'an unknown version': 'GET /status/health HTTP/9.9\r\nHost: x\r\n\r\n',
    'no host': 'GET /status/health HTTP/1.1\r\n\r\n',
    'a header without a colon': 'GET /status/health HTTP/1.1\r\nHost x\r\n\r\n',
    'a folded header': 'GET /status/health HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n',
    'two lengths': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    'a length and chunks':
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n',
    'an invalid length': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
    'very long headers': `GET /status/health HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(100_000)}\r\n\r\n`,
    'a null byte in the path': 'GET /status/\u0000health HTTP/1.1\r\nHost: x\r\n\r\n',
    'a proxy request': 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n',
  }
  for (const [name, bytes] of Object.entries(broken)) {
    test(`${name} is refused, and the server keeps working`, async () => {
      for (const instance of ['coordinator', 'router']) {
        const answer = await sendRaw(cluster.urls[instance]!, bytes)
        const answers = [...answer.text.matchAll(/^HTTP\/1\.1 /gm)].length
        assert.equal(answers, 1, `${instance}: ${answer.text}`)
        // CONNECT, which would open a tunnel, is not a method of this interface.
        const expected = bytes.startsWith('CONNECT ') ? [405] : [400, 431]
        assert.ok(expected.includes(answer.status ?? 0), `${instance}: ${answer.text}`)
        // Node.js answers this itself, before the application sees it.
        if (name === 'no host') continue
        const body = JSON.parse(answer.text.slice(answer.text.indexOf('\r\n\r\n')))
        assert.equal(body.error, 'svcException')
        const categories = { 400: 'INVALID_INPUT', 405: 'UNSUPPORTED', 431: 'CAPACITY_EXCEEDED' }
        assert.equal(body.category, categories[answer.status as keyof typeof categories])
        assert.equal(await cluster.at(instance).get('/status/health'), true)
      }
    })
  }
})

describe('./svc ingest reports in the terms of the user', () => {
  const folder = newTestFolder()
  after(() => removeTestFolder(folder))

  const ingest = (name: string, text: string, ...more: string[]) => {
    const file = path.join(folder, name)
    writeFileSync(file, text)
    const to = ['--datasource', 'o1', '--timestamp', 't', '--home', cluster.home.root]
    return runSvc('ingest', file, ...to, ...more).then((result) => ({ file, ...result }))
  }

  for (const { name, text } of [
    { name: 'empty.csv', text: '' },
    { name: 'header.csv', text: 't,n\n' },
    { name: 'empty.json', text: '' },
  ]) {
    test(`a file without rows: ${name}`, async () => {
      const { file, status, stderr } = await ingest(name, text)
      assert.deepEqual(
        [status, stderr],
        [2, `svc: File [${file}] has no rows. Nothing was ingested into [o1].\n`],
      )
    })
  }

  test('a column that no row has, and ingests the rows', async () => {
    const { file, status, stdout, stderr } = await ingest(
      'a.json',
      '{"t":"2026-01-01","n":1}',
      '--dimensions',
      'n,zz',
    )
    assert.deepEqual([status, stderr], [0, `Warning: Column [zz] is not in any row of file [${file}]\n`])
    assert.match(stdout, /Ingested 1 row into \[o1\] in .* \(1 row read, 1 segment\)\.\n$/)
  })

  test('a missing timestamp column with its option', async () => {
    const { status, stderr } = await ingest('no-time.csv', 'a,b\n1,2\n')
    assert.equal(status, 2)
    assert.match(
      stderr,
      /failed: Invalid value \[t\] for \[--timestamp\]: expected one of the input columns \[a, b\]\. To show its log, run /,
    )
  })

  test('an invalid row with the file name that the user gave, and the suggested command prints its log', async () => {
    const { file, status, stderr } = await ingest('bad-time.csv', 't,n\n2026-01-01,1\nnever,2\n')
    assert.equal(status, 2)
    assert.ok(
      stderr.includes(
        `failed: Invalid value [never] for timestamp column [t] (--timestamp) in row [2] of file [${file}]: expected format [auto] (--timestamp-format). To show its log, run `,
      ),
      stderr,
    )
    const [, args = ''] = /To show its log, run \.\/svc (.*)\n$/.exec(stderr) ?? []
    const log = await runSvc(...args.split(' '))
    assert.equal(log.status, 0, log.stderr)
    assert.match(
      log.stdout,
      /^\S+ INFO {2}Task started \{"task":"[^"\\]+","attempt":1\}\n\S+ ERROR Task failed .*never.*\n$/,
    )
    const unknown = await runSvc('logs', '--task', 'unknown', '--home', cluster.home.root)
    assert.deepEqual([unknown.status, /Task \[unknown\] does not exist/.test(unknown.stderr)], [2, true])
  })
})
