import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fc, separators, starts, strayTargets, ways } from '@svc/shared/testing'
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

describe('a valid target', () => {
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
    it(`${given} ${path === undefined ? 'is rejected' : 'is forwarded unchanged'}`, () =>
      assert.equal(targetOf(given, aliases)?.path, path))
  }
})

describe('an invalid target', () => {
  it('is tested with at least 200 examples', () =>
    assert.ok(new Set(strayTargets).size >= 200, String(new Set(strayTargets).size)))
  for (const given of new Set(strayTargets)) {
    it(`${JSON.stringify(given)} is rejected`, () => assert.equal(targetOf(given), undefined))
  }
})

/** Asserts the rules that hold for every target, however it is written. */
function check(given: string): void {
  const target = targetOf(given)
  if (!target) return
  const { role, path } = target
  const stripped = given.startsWith('/proxy/')
  const fullPath = stripped ? `/proxy/${role}${path}` : path
  assert.equal(fullPath, given, 'only the prefix may be removed')
  const url = new URL(path, 'https://target.example:1')
  assert.equal(url.origin, 'https://target.example:1')
  assert.equal(url.username, '')
  // The path must stay below its prefix when a browser, proxy, or server normalizes it.
  const normalized = new URL(fullPath, 'https://target.example').pathname
  const allowed = stripped ? [`/proxy/${role}/`] : prefixes[role]
  assert.ok(
    allowed.some((prefix) => normalized === prefix || normalized.startsWith(prefix.replace(/\/?$/, '/'))),
    normalized,
  )
  assert.doesNotMatch(path, /^\/svc-internal/i)
  assert.doesNotMatch(path.split('?', 1)[0] ?? '', /^\/[\\/]|^[^/]|[\s\\]/)
}

describe('any target', () => {
  it('from the examples above follows the rules', () => {
    for (const given of [...strayTargets, ...good.map(([path]) => path)]) check(given)
  })

  it('is forwarded only below the allowed prefixes', () => {
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
