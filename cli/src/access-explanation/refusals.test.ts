import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { unavailable } from '@svc/domain/failure'
import { testClient } from '../testing/index.ts'
import {
  type Explanation,
  explanationText,
  handshakesText,
  handshakeText,
  refusedHandshakes,
  refusedRequests,
  refusedRequestText,
} from './index.ts'

const certificate = {
  subject: 'CN=broker',
  issuer: 'CN=old authority',
  serialNumber: '01',
  names: 'DNS:broker',
  validFrom: '2025-01-01T00:00:00.000Z',
  validTo: '2026-01-01T00:00:00.000Z',
  fingerprint: 'AA:BB',
}
const handshake = {
  id: 'h1',
  time: '2026-01-03T00:00:00.000Z',
  address: '10.0.0.1',
  code: 'CERT_HAS_EXPIRED',
  reason: 'invalid certificate [CN=broker] (CERT_HAS_EXPIRED)',
  certificate,
  instance: 'coordinator',
}

describe('a refused handshake', () => {
  it('names certificate, authority, names, and when it expired', () => {
    const text = handshakeText(handshake)
    assert.match(text, /^Refused: handshake h1 from \[10\.0\.0\.1\] to coordinator/)
    assert.match(text, /was valid until 2026-01-01T00:00:00\.000Z, 2 d before the handshake\./)
    for (const value of ['CN=broker', 'CN=old authority', 'DNS:broker', 'AA:BB'])
      assert.ok(text.includes(value), value)
  })

  for (const [code, expected] of [
    ['NO_CERTIFICATE', /requires a certificate/],
    ['CERT_NOT_YET_VALID', /not valid before 2025-01-01.* but this server's clock showed/],
    ['CERT_REVOKED', /The authority \[CN=old authority\] has revoked/],
    ['WRONG_HOST', /valid for \[DNS:broker\], but the client connected from \[10\.0\.0\.1\]/],
    ['SELF_SIGNED_CERT_IN_CHAIN', /does not contain the authority \[CN=old authority\]/],
    [
      'UNSPECIFIED',
      /\(code \[UNSPECIFIED\]\).* the authority \[CN=old authority\] is not allowed to issue certificates/,
    ],
    ['INVALID_PURPOSE', /rejected the certificate \(code \[INVALID_PURPOSE\]\)/],
  ] as const)
    it(`is explained for ${code}`, () => {
      const shown = code === 'NO_CERTIFICATE' ? null : certificate
      assert.match(handshakeText({ ...handshake, code, certificate: shown }), expected)
    })

  it('is one of the newest 40 in a list, which says how many earlier ones there are', () => {
    const listOf = (count: number) =>
      handshakesText(Array.from({ length: count }, (_, at) => ({ ...handshake, id: `id-${at}.` })))
    assert.match(listOf(43), /id-39\.\nAnd 3 earlier handshakes \(--json lists all\)\n$/)
    assert.match(listOf(40), /id-39\.\n$/)
  })

  it('is explained if it failed before the certificate', () => {
    const text = handshakeText({
      ...handshake,
      code: 'ERR_SSL_UNSUPPORTED_PROTOCOL',
      reason: 'TLS handshake failed: no protocol in common',
      certificate: null,
    })
    assert.match(
      text,
      /TLS handshake failed: no protocol in common\.\n\nThe handshake failed before the client sent a certificate\./,
    )
  })

  it('is found behind a router, and an unknown one is an error', async () => {
    const path = '/svc/internal/v1/refusedHandshakes?id='
    const answers = (id: string, found: object[]) =>
      Object.fromEntries(
        ['', '/proxy/coordinator', '/proxy/overlord'].map((prefix) => [
          `GET ${prefix}${path}${id}`,
          prefix === '/proxy/overlord' ? found : [],
        ]),
      )
    const { instance: _, ...entry } = handshake
    const client = testClient({ ...answers('h1', [entry]), ...answers('h2', []) })
    assert.deepEqual(await refusedHandshakes({ client }, 'h1'), [{ ...entry, instance: 'overlord' }])
    await assert.rejects(
      refusedHandshakes({ client }, 'h2'),
      /No server has recorded a refused handshake with the ID/,
    )
  })

  it('is a row of the list', () => {
    assert.match(handshakesText([handshake]), /10\.0\.0\.1 +CN=broker +CERT_HAS_EXPIRED +h1/)
    assert.match(handshakesText([]), /^No server has refused a handshake/)
  })
})

describe('a refused request', () => {
  const refused = {
    id: 'r1',
    time: '2026-01-03T00:00:00.000Z',
    address: '10.0.0.1',
    method: 'GET',
    path: '/status',
    status: 401,
    user: 'bob',
    message: 'Missing or invalid credentials',
    reason: 'WRONG_PASSWORD' as const,
    because: 'The directory of authenticator [L] found [bob] but rejected the password',
    directory: [
      ...[{ authenticator: 'L', action: 'bind' as const, url: 'ldap://x', bindUser: 'cn=search' }],
      ...[
        {
          authenticator: 'L',
          action: 'checkPassword' as const,
          url: 'ldap://x',
          bindUser: 'uid=bob',
          error: 'Invalid credentials',
        },
      ],
    ],
    instance: 'router',
  }
  const explanation: Explanation = {
    user: 'bob',
    method: 'GET',
    path: '/status',
    authorizer: 'Z',
    endpoint: '/status',
    authenticators: [{ name: 'L', knows: 'knows it', usesThisAuthorizer: true }],
    directory: [
      { authenticator: 'L', action: 'bind', url: 'ldap://x', bindUser: 'cn=search' },
      {
        ...{ authenticator: 'L', action: 'searchUser', url: 'ldap://x', bindUser: 'cn=search' },
        ...{ baseDn: 'ou=users', filter: '(uid=bob)', found: ['uid=bob'], memberOf: ['cn=analysts'] },
      },
      {
        ...{ authenticator: 'L', action: 'searchGroups', url: 'ldap://x', bindUser: 'cn=search' },
        ...{ baseDn: 'ou=groups', filter: '(member=uid=bob)', error: 'No such object' },
      },
    ],
    groups: [],
    roles: [],
    permissions: [],
    allowed: true,
    because: 'A role grants it',
  }

  it('begins with the recorded reason and the requests to the directory, even if it would be allowed now', () => {
    const text = refusedRequestText(refused, { explanation })
    assert.match(
      text,
      /^Refused: request r1 from \[10\.0\.0\.1\] to router at .*\nGET \/status: status 401, Missing or invalid credentials\.\n\nReason: WRONG_PASSWORD\nThe directory of authenticator \[L\] found \[bob\] but rejected the password\.\n\nDirectory at that time:\n1\. Bind to ldap:\/\/x as \[cn=search\]: accepted\n2\. Check the password: bind to ldap:\/\/x as \[uid=bob\]: failed: Invalid credentials\n\nNow: \[bob\] may make such a request with the correct password\.\n\nAllowed: /,
    )
  })

  it('says what the cluster decides now', () => {
    const forbidden = { ...refused, status: 403, reason: 'FORBIDDEN' as const, directory: [] }
    for (const [one, allowed, expected] of [
      [forbidden, true, /Now: \[bob\] has the permission for this endpoint\. It was granted since then, or/],
      [
        { ...refused, reason: 'FORBIDDEN_NETWORK' as const },
        true,
        /Now: \[bob\] may make such a request from an address in \[svc\.auth\.internalClientAllowedNetworks\]/,
      ],
      [forbidden, false, /Now: the cluster would refuse such a request again\./],
      [refused, false, /Now: the cluster would refuse such a request even with the correct password\./],
      [refused, null, /Now: whether \[bob\] may make such a request depends on its content\./],
    ] as const)
      assert.match(refusedRequestText(one, { explanation: { ...explanation, allowed } }), expected)
    assert.match(
      refusedRequestText(refused, { missing: 'Unknown endpoint' }),
      /\n\nNow: Unknown endpoint\.\n$/,
    )
  })

  it('shows each request to the directory', () => {
    assert.match(
      explanationText(explanation),
      /1\. Bind to ldap:\/\/x as \[cn=search\]: accepted\n2\. Search for the user in \[ou=users\] with \(uid=bob\): found \[uid=bob\], member of \[cn=analysts\]\n3\. Search for groups in \[ou=groups\] with \(member=uid=bob\): failed: No such object/,
    )
  })

  it('sends no control sequences of a directory to the terminal', () => {
    const [bind] = refused.directory
    const text = refusedRequestText(
      { ...refused, directory: [{ ...bind!, error: 'first\n\u001b[2Jlast' }] },
      { explanation },
    )
    assert.match(text, /: failed: first\\u000a\\u001b\[2Jlast\n/)
  })

  it('says where roles come from, or why groups give none', () => {
    const group = 'cn=analysts'
    const role = { role: 'readers', from: ['user', 'group mapping [analysts]'], exists: true }
    for (const [given, expected] of [
      [{}, /\nThe user has no roles\.\n/],
      [{ groups: [{ group, counts: true }] }, /no roles: .*, and no group mapping matches these groups\.\n/],
      [{ groups: [{ group, counts: false }] }, /no roles: .*, and the authorizer ignores these groups/],
      [{ roles: [role] }, /readers +assigned to the user, group mapping \[analysts\]/],
    ] as const)
      assert.match(explanationText({ ...explanation, ...given }), expected)
  })

  it('is found behind a router', async () => {
    const { instance: _, ...entry } = refused
    const path = '/svc/internal/v1/refusedRequests?id=r1'
    const client = testClient({
      [`GET ${path}`]: [entry],
      [`GET /proxy/coordinator${path}`]: [],
      [`GET /proxy/overlord${path}`]: [],
    })
    assert.deepEqual(await refusedRequests({ client }, 'r1'), [refused])
  })

  it('is found while another server is unavailable, which may have recorded one that is not found', async () => {
    const { instance: _, ...entry } = refused
    const path = '/svc/internal/v1/refusedRequests?id='
    const client = testClient({
      [`GET ${path}r1`]: [entry],
      [`GET ${path}r2`]: [],
      ...Object.fromEntries(
        ['coordinator', 'overlord'].flatMap((role) =>
          ['r1', 'r2'].map((id) => [`GET /proxy/${role}${path}${id}`, unavailable('No leader')]),
        ),
      ),
    })
    assert.deepEqual(await refusedRequests({ client }, 'r1'), [refused])
    await assert.rejects(refusedRequests({ client }, 'r2'), { message: 'No leader' })
  })
})
