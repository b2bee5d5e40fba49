import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
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
      /No server has recorded a rejected handshake with the ID/,
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

  it('shows the login, and that the password was wrong if the user may make the request', () => {
    const text = refusedRequestText(refused, explanation)
    assert.match(text, /^Refused: request r1 from \[10\.0\.0\.1\] to router/)
    assert.match(text, /Either the password was wrong/)
    assert.doesNotMatch(refusedRequestText({ ...refused, status: 403 }, explanation), /password/)
  })

  it('shows each request to the directory', () => {
    assert.match(
      explanationText(explanation),
      /1\. Bind to ldap:\/\/x as \[cn=search\]: accepted\n2\. Search for the user in \[ou=users\] with \(uid=bob\): found \[uid=bob\], member of \[cn=analysts\]\n3\. Search for groups in \[ou=groups\] with \(member=uid=bob\): failed: No such object/,
    )
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

  it('without credentials says so', () => {
    assert.match(refusedRequestText({ ...refused, user: '' }, undefined), /had no readable credentials/)
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
})
