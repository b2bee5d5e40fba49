import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fc } from '@svc/shared/testing'
import { targetOf } from './target.ts'

const prefixes = {
  coordinator: ['/svc/coordinator', '/svc/simulation'],
  overlord: ['/svc/indexer'],
  broker: ['/svc/broker', '/svc/v2'],
} as const

const good: readonly [given: string, role: keyof typeof prefixes, path: string][] = [
  ['/svc/coordinator/v1/rules', 'coordinator', '/svc/coordinator/v1/rules'],
  ['/svc/coordinator/v1/rules/wiki?full', 'coordinator', '/svc/coordinator/v1/rules/wiki?full'],
  ['/svc/coordinator', 'coordinator', '/svc/coordinator'],
  ['/svc/coordinator/', 'coordinator', '/svc/coordinator/'],
  ['/svc/coordinator/v1/rules/a%2Fb', 'coordinator', '/svc/coordinator/v1/rules/a%2Fb'],
  ['/svc/coordinator/v1/rules/a%20b', 'coordinator', '/svc/coordinator/v1/rules/a%20b'],
  ['/svc/coordinator/v1/rules/%zz', 'coordinator', '/svc/coordinator/v1/rules/%zz'],
  ['/svc/coordinator/v1/rules/...', 'coordinator', '/svc/coordinator/v1/rules/...'],
  ['/svc/coordinator/v1/rules/.a.', 'coordinator', '/svc/coordinator/v1/rules/.a.'],
  ['/svc/coordinator/v1/rules?x=//evil/../..', 'coordinator', '/svc/coordinator/v1/rules?x=//evil/../..'],
  ['/svc/coordinator?v1', 'coordinator', '/svc/coordinator?v1'],
  ['/svc/simulation/v1', 'coordinator', '/svc/simulation/v1'],
  ['/svc/indexer/v1/task', 'overlord', '/svc/indexer/v1/task'],
  [
    '/svc/indexer/v1/task/index_a_2026-01-01T00:00:00.000Z/log',
    'overlord',
    '/svc/indexer/v1/task/index_a_2026-01-01T00:00:00.000Z/log',
  ],
  ['/svc/broker/v1/loadstatus', 'broker', '/svc/broker/v1/loadstatus'],
  ['/svc/v2/sql', 'broker', '/svc/v2/sql'],
  ['/proxy/coordinator/status', 'coordinator', '/status'],
  ['/proxy/coordinator/svc/coordinator/v1/leader', 'coordinator', '/svc/coordinator/v1/leader'],
  ['/proxy/coordinator/svc-ext/basic-security/x?full', 'coordinator', '/svc-ext/basic-security/x?full'],
  ['/proxy/coordinator/', 'coordinator', '/'],
  ['/proxy/overlord/status/health', 'overlord', '/status/health'],
  ['/proxy/coordinator/proxy/overlord/x', 'coordinator', '/proxy/overlord/x'],
]

describe('a target', () => {
  for (const [given, role, path] of good) {
    it(`${given} goes to the ${role} as ${path}`, () => assert.deepEqual(targetOf(given), { role, path }))
  }
})

describe('an alias', () => {
  const aliases = ['druid', 'koala']
  const rows: readonly [given: string, path: string | undefined][] = [
    ['/druid/coordinator/v1/rules?full', '/druid/coordinator/v1/rules?full'],
    ['/koala/indexer/v1/tasks', '/koala/indexer/v1/tasks'],
    ['/svc/coordinator/v1/rules', '/svc/coordinator/v1/rules'],
    ['/proxy/coordinator/druid-ext/basic-security/x', '/druid-ext/basic-security/x'],
    ['/emu/coordinator/v1/rules', undefined],
    ['/druid-internal/v1/segments', undefined],
    ['/druid', undefined],
    ['/druidx/coordinator', undefined],
    ['/Druid/coordinator', undefined],
  ]
  for (const [given, path] of rows) {
    it(`${given} ${path === undefined ? 'goes nowhere' : 'goes on under its own name'}`, () =>
      assert.equal(targetOf(given, aliases)?.path, path))
  }
})

// Ways to write a path that something on the way may read as another one.
const ways = ['..', '.', '%2e%2e', '%2E%2e', '.%2e', '%2e.', '%2e', '%2E']
const separators = ['//', '\\', '///', '/\\', '\\/']
const starts = [
  '/svc/coordinator',
  '/svc/indexer',
  '/svc/v2',
  '/svc/broker',
  '/proxy/coordinator',
  '/proxy/overlord',
]
const internal = [
  '/svc-internal/v1/security/directory',
  '/svc-internal',
  '/svc-internal?x',
  '/SVC-INTERNAL/v1/servers/report',
  '/%73vc-internal/v1/servers/report',
  '/svc%2Dinternal/v1/servers/report',
  '/%73%76%63%2d%69%6e%74%65%72%6e%61%6c/v1',
  '/svc-internal%2Fv1',
  '/svc-internal;x=y/v1',
]

const nowhere: readonly string[] = [
  '',
  '/',
  '*',
  '?',
  '#',
  'svc/coordinator/v1/rules',
  '/svc',
  '/svc/',
  '/proxy',
  '/proxy/',
  '/proxy/coordinator',
  '/proxy/overlord',
  '/proxy/coordinator?x',
  '/proxy/broker/status',
  '/proxy/historical/status',
  '/proxy/http://evil.example/',
  '/proxy/coordinatorx/status',
  '/proxy/coordinator.evil.example/status',
  '/proxy/coordinator@evil.example/status',
  '/proxy/coordinator:80/status',
  '/proxy/coordinator%2Fstatus',
  '/proxy/coordinator;/status',
  '/svc/coordinatorx',
  '/svc/coordinator%2Fv1/rules',
  '/svc/coordinator;x/v1',
  '/svc/historical/v1/loadstatus',
  '/svc/router/v1/brokers/x',
  '/SVC/coordinator/v1/rules',
  '/Proxy/coordinator/status',
  '/status',
  '/index.html',
  '/.svc/coordinator',
  '//evil.example/svc/coordinator/v1/rules',
  '///svc/coordinator/v1/rules',
  '/\\evil.example/svc/coordinator',
  '\\/svc/coordinator',
  '\\\\evil.example\\svc\\coordinator',
  'http://evil.example/svc/coordinator/v1/rules',
  'https://evil.example/svc/coordinator/v1/rules',
  'http:/svc/coordinator/v1/rules',
  'http:svc/coordinator',
  'file:///etc/passwd',
  'evil.example:443',
  '@evil.example/svc/coordinator',
  ' /svc/coordinator/v1/rules',
  '/svc/coordinator /v1/rules',
  '/svc/coordinator/v1/rules HTTP/1.1\r\nHost: evil.example\r\n\r\nGET /',
  '/svc/coordinator/v1\trules',
  '/svc/coordinator/v1/rules\n',
  '/%73vc/coordinator/v1/rules',
  '/svc%2fcoordinator/v1/rules',
  '/svc/%63oordinator/v1/rules',
  '/svc/v2x/sql',
  '/svc/v1/sql',
  ...internal,
  ...internal.flatMap((path) =>
    ['/proxy/coordinator', '/proxy/overlord'].map((prefix) => `${prefix}${path}`),
  ),
  ...starts.flatMap((start) =>
    ways.flatMap((way) => [
      `${start}/${way}`,
      `${start}/${way}/svc-internal/v1`,
      `${start}/v1/${way}/${way}/x?y`,
    ]),
  ),
  ...starts.flatMap((start) => separators.map((separator) => `${start}${separator}svc-internal/v1`)),
  ...starts.map((start) => start.replace('/', '//')),
  ...starts.map((start) => `/x/..${start}/v1`),
  ...starts.map((start) => `/x${start}/v1`),
]

describe('a target that goes nowhere', () => {
  it('is one of very many', () => assert.ok(new Set(nowhere).size >= 200, String(new Set(nowhere).size)))
  for (const given of new Set(nowhere)) {
    it(JSON.stringify(given), () => assert.equal(targetOf(given), undefined))
  }
})

/** What cannot be true of any target, however it is written. */
function check(given: string): void {
  const target = targetOf(given)
  if (!target) return
  const { role, path } = target
  const stripped = given.startsWith('/proxy/')
  const whole = stripped ? `/proxy/${role}${path}` : path
  assert.equal(whole, given, 'nothing is added or taken but the prefix')
  const url = new URL(path, 'https://target.example:1')
  assert.equal(url.origin, 'https://target.example:1')
  assert.equal(url.username, '')
  // As a browser, a proxy or a server may normalize it: it stays below its prefix.
  const normalized = new URL(whole, 'https://target.example').pathname
  const allowed = stripped ? [`/proxy/${role}/`] : prefixes[role]
  assert.ok(
    allowed.some((prefix) => normalized === prefix || normalized.startsWith(prefix.replace(/\/?$/, '/'))),
    normalized,
  )
  assert.doesNotMatch(path, /^\/svc-internal/i)
  assert.doesNotMatch(path.split('?', 1)[0] ?? '', /^\/[\\/]|^[^/]|[\s\\]/)
}

describe('any target', () => {
  it('of those above keeps the rules', () => {
    for (const given of [...nowhere, ...good.map(([path]) => path)]) check(given)
  })

  it('goes nowhere but below the allowed prefixes', () => {
    const piece = fc.constantFrom(
      ...starts,
      ...ways,
      ...separators,
      '/',
      '?',
      '#',
      '@',
      ':',
      ';',
      '%',
      '%2f',
      '%5c',
      '%00',
      '%25',
      'http:',
      'evil.example',
      'svc-internal',
      'svc',
      'v1',
      'proxy',
      'x',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), fc.constantFrom('', ...starts), (pieces, start) => {
        check(start + pieces.join(''))
        check(`${start}/${pieces.join('')}`)
      }),
      { numRuns: 5000 },
    )
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (url) => {
        assert.equal(targetOf(url), undefined)
      }),
    )
  })
})
