import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createServer } from 'node:tls'
import { probeLdap } from '@svc/shared/security'
import { pkiTools } from '../pki/index.ts'

test('a probe with TLS accepts only a certificate for the host, which may be an address', async (context) => {
  const tools = await pkiTools()
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const valid = { notBefore: Date.now() - 1000, notAfter: Date.now() + 60_000 }
  const certificatePem = tools.issueAuthority({ ...valid, ...keys })
  const certificate = tools.issueCertificate(
    { certificatePem, key: keys.privateKey },
    { ...valid, publicKey: keys.publicKey, name: 'directory', hosts: ['10.1.2.3'] },
  )
  const key = keys.privateKey.export({ type: 'pkcs8', format: 'pem' })
  const server = createServer({ key, cert: certificate }, (socket) => socket.destroy())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => server.close())
  const probe = {
    ...{ host: '127.0.0.1', port: (server.address() as AddressInfo).port, timeoutMs: 5000 },
    ...{ bindUser: 'cn=search', bindPassword: 'x', baseDn: 'dc=example', userSearch: '(uid=%s)', users: [] },
  }
  const kindFor = async (servername: string) =>
    (await probeLdap({ ...probe, tls: { authorities: [certificatePem], servername } })).kind
  assert.equal(await kindFor('10.1.2.4'), 'untrusted')
  // This directory closes each connection once it is trusted.
  assert.equal(await kindFor('10.1.2.3'), 'unreachable')
})
