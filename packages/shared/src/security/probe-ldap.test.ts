import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { probeLdap } from './index.ts'

test('a probe connects to an IPv6 address, and reports a closed connection', async (context) => {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  server.listen(0, '::1')
  await once(server, 'listening')
  context.after(() => server.close())
  const result = await probeLdap({
    host: '[::1]',
    port: (server.address() as AddressInfo).port,
    tls: undefined,
    bindUser: 'cn=search',
    bindPassword: 'x',
    baseDn: 'dc=example',
    userSearch: '(uid=%s)',
    users: [],
    timeoutMs: 5000,
  })
  assert.equal(result.kind, 'unreachable')
  assert.ok(connections > 0)
})
