import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, it } from 'node:test'
import { createMetrics } from '../metrics/index.ts'
import { basicHeader, createSecurity, hashPassword } from '../security/index.ts'
import { httpRequest, recordingLogger, testSettings } from '../testing/index.ts'
import { createApplication, createRefusals, open, type Route, route, state } from './index.ts'

const settings = testSettings('coordinator', {
  'svc.auth.authenticatorChain': '["a"]',
  'svc.auth.authenticator.a.type': 'basic',
  'svc.auth.authenticator.a.authorizerName': 'z',
  'svc.auth.authorizers': '["z"]',
  'svc.auth.authorizer.z.type': 'basic',
  'svc.escalator.type': 'basic',
  'svc.escalator.internalClientPassword': 'internal',
})
const reads = [{ resource: { type: 'STATE', name: 'STATE' }, action: 'READ' }] as const
const security = createSecurity(settings, {
  current: () => ({
    version: 1,
    authenticators: { a: { ann: credentials } },
    authorizers: { z: { users: { ann: ['reader'] }, roles: { reader: reads }, groupMappings: {} } },
  }),
})
const credentials = await hashPassword('right-password')
const refusals = createRefusals()
const routes: readonly Route[] = [
  route({ answers: [], method: 'GET', path: '/open', access: open, summary: '', handle: () => 1 }),
  route({ answers: [], method: 'GET', path: '/read', access: state('READ'), summary: '', handle: () => 1 }),
  route({
    answers: [],
    method: 'POST',
    path: '/write',
    access: state('WRITE'),
    summary: '',
    handle: () => 1,
  }),
]
const server = createServer(
  createApplication({
    routes,
    security,
    log: recordingLogger(),
    metrics: createMetrics('coordinator'),
    onRefused: (refusal) => refusals.addRequest(refusal),
  }),
)
await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
after(() => server.close())

const send = (method: 'GET' | 'POST', path: string, authorization?: string) =>
  httpRequest((server.address() as AddressInfo).port, {
    method,
    path,
    headers: authorization === undefined ? {} : { Authorization: authorization },
  })

it('keeps requests that were refused because of the login or a permission, with the ID of the response', async () => {
  const right = basicHeader('ann', 'right-password')
  assert.equal((await send('GET', '/open')).status, 200)
  assert.equal((await send('GET', '/read', right)).status, 200)
  assert.equal((await send('GET', '/missing', right)).status, 404)
  const answers = [
    await send('GET', '/read'),
    await send('GET', '/read', basicHeader('ann', 'wrong-password')),
    await send('GET', '/read', basicHeader('x'.repeat(2000), 'wrong-password')),
    await send('POST', '/write', right),
  ]
  const kept = refusals.requests.newestFirst().reverse()
  assert.deepEqual(
    kept.map(({ id, method, path, status, user, reason }) => [
      id,
      method,
      path,
      status,
      user.slice(0, 3),
      reason,
    ]),
    [
      [answers[0]!.headers['x-request-id'], 'GET', '/read', 401, '', 'NO_CREDENTIALS'],
      [answers[1]!.headers['x-request-id'], 'GET', '/read', 401, 'ann', 'WRONG_PASSWORD'],
      [answers[2]!.headers['x-request-id'], 'GET', '/read', 401, 'xxx', 'CREDENTIALS_TOO_LONG'],
      [answers[3]!.headers['x-request-id'], 'POST', '/write', 403, 'ann', 'FORBIDDEN'],
    ],
  )
  assert.ok(kept.every(({ user, address }) => user.length <= 1001 && address === '127.0.0.1'))
  assert.doesNotMatch(JSON.stringify(kept), /right-password|wrong-password/)
})
