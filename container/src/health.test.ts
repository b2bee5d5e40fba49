import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { ensureCertificates, keyStoreFile, trustStoreFile } from '@svc/cli/pki'
import { fetchHealth } from './health.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-health-'))
after(() => rmSync(folder, { recursive: true }))

const passphrase = 'top secret'
await ensureCertificates({
  folder,
  instances: ['svc-historical-2'],
  hosts: (instance) => [instance],
  keyStorePassword: passphrase,
  now: Date.now(),
})

test('checks a server over TLS, with a certificate for its own name', async () => {
  const pem = readFileSync(keyStoreFile(folder, 'svc-historical-2'), 'utf8')
  const cert = pem.slice(pem.indexOf('-----BEGIN CERTIFICATE-----'))
  const server = https.createServer({ key: pem, passphrase, cert }, (request, response) => {
    response.end(String(request.url === '/status/health'))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const address = { host: 'svc-historical-2', port, isTls: true, trustStore: trustStoreFile(folder) }
  try {
    assert.equal(await fetchHealth(address), 'true')
    await assert.rejects(fetchHealth({ ...address, host: 'svc-historical-3' }), {
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    })
  } finally {
    server.close()
  }
})

test('checks a server without TLS, and fails if it is unavailable', async () => {
  const server = http.createServer((_request, response) => response.end('true'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const address = { host: 'svc-historical-2', port, isTls: false, trustStore: undefined }
  assert.equal(await fetchHealth(address), 'true')
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
  await assert.rejects(fetchHealth(address), { code: 'ECONNREFUSED' })
})
