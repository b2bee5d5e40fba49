import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { type CertificateRequest, ensureCertificates, keyStoreFile, trustStoreFile } from './index.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-pki-'))
after(() => rmSync(folder, { recursive: true }))

const dayMs = 24 * 60 * 60 * 1000

const hosts = ['localhost', '127.0.0.1', '::1', 'machine.example']
const request: CertificateRequest = {
  folder,
  instances: ['router', 'historical-1'],
  hosts: () => hosts,
  keyStorePassword: 'top secret',
  now: Date.now(),
}

beforeEach(() => ensureCertificates(request))

async function handshake(servername: string): Promise<{ authorized: boolean; error: Error | undefined }> {
  const pem = readFileSync(keyStoreFile(folder, 'router'), 'utf8')
  const server = createServer({ key: pem, passphrase: request.keyStorePassword, cert: certificates(pem) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  // Node compares `host` for an address and `servername` for a name.
  const name = servername.includes('.example') || servername === 'localhost' ? { servername } : {}
  const host = servername === '127.0.0.1' || name.servername ? '127.0.0.1' : servername
  const socket: TLSSocket = connect({ port, host, ca: readFileSync(trustStoreFile(folder)), ...name })
  try {
    await once(socket, 'secureConnect')
    return { authorized: socket.authorized, error: undefined }
  } catch (error) {
    return { authorized: false, error: error as Error }
  } finally {
    socket.destroy()
    server.close()
  }
}

function certificates(pem: string): string {
  return pem.slice(pem.indexOf('-----BEGIN CERTIFICATE-----'))
}

function serialOf(instance: string): string {
  return new X509Certificate(certificates(readFileSync(keyStoreFile(folder, instance), 'utf8'))).serialNumber
}

for (const name of ['localhost', '127.0.0.1', 'machine.example']) {
  test(`a client that trusts the authority connects to ${name}`, async () => {
    assert.deepEqual(await handshake(name), { authorized: true, error: undefined })
  })
}

test('a client rejects another host name', async () => {
  const { authorized, error } = await handshake('other.example')
  assert.equal(authorized, false)
  assert.equal((error as NodeJS.ErrnoException).code, 'ERR_TLS_CERT_ALTNAME_INVALID')
})

test('a key store contains an encrypted key and the complete chain', () => {
  const pem = readFileSync(keyStoreFile(folder, 'router'), 'utf8')
  assert.match(pem, /^-----BEGIN ENCRYPTED PRIVATE KEY-----/)
  const [own, authority] = certificates(pem)
    .split(/(?<=-----END CERTIFICATE-----\n)/)
    .map((one) => new X509Certificate(one))
  assert.ok(own!.checkIssued(authority!))
  assert.ok(authority!.ca && authority!.verify(authority!.publicKey))
  assert.equal(own!.ca, false)
  assert.equal(authority!.toString(), readFileSync(trustStoreFile(folder), 'utf8'))
})

test('only the owner can read private keys', () => {
  for (const file of ['authority.key.pem', 'router.pem', 'historical-1.pem']) {
    assert.equal(statSync(path.join(folder, file)).mode & 0o777, 0o600, file)
  }
})

test('the private key of the authority can be in a separate folder', async () => {
  const [own, apart] = [path.join(folder, 'own'), path.join(folder, 'apart')]
  for (const created of [own, apart]) mkdirSync(created)
  const separate = { ...request, folder: own, authorityFolder: apart }
  assert.deepEqual(await ensureCertificates(separate), request.instances)
  assert.deepEqual(readdirSync(own).sort(), ['authority.pem', 'historical-1.pem', 'router.pem'])
  assert.deepEqual(readdirSync(apart), ['authority.key.pem'])
  assert.deepEqual(await ensureCertificates(separate), [])
})

const changes: {
  name: string
  change: Partial<CertificateRequest>
  damage?: () => void
  expect: string[]
}[] = [
  { name: 'nothing', change: {}, expect: [] },
  { name: 'another order of hosts', change: { hosts: () => hosts.toReversed() }, expect: [] },
  { name: 'a new instance', change: { instances: ['router', 'broker'] }, expect: ['broker'] },
  { name: 'a new host', change: { hosts: () => [...hosts, 'new'] }, expect: ['router', 'historical-1'] },
  {
    name: 'a new host of one instance',
    change: { hosts: (instance) => (instance === 'router' ? [...hosts, 'new'] : hosts) },
    expect: ['router'],
  },
  { name: 'another password', change: { keyStorePassword: 'other' }, expect: ['router', 'historical-1'] },
  { name: '8 days before expiry', change: { now: request.now + 357 * dayMs }, expect: [] },
  {
    name: '6 days before expiry',
    change: { now: request.now + 359 * dayMs },
    expect: ['router', 'historical-1'],
  },
  {
    name: 'a damaged key store',
    change: {},
    damage: () => writeFileSync(keyStoreFile(folder, 'historical-1'), 'half a fi'),
    expect: ['historical-1'],
  },
  {
    name: 'a lost authority',
    change: {},
    damage: () => rmSync(path.join(folder, 'authority.key.pem')),
    expect: ['router', 'historical-1'],
  },
  {
    name: 'the expiry of the authority',
    change: { now: request.now + 3645 * dayMs },
    expect: ['router', 'historical-1'],
  },
]

for (const { name, change, damage, expect } of changes) {
  test(`reissues after ${name}: [${expect}]`, async () => {
    const before = new Map(request.instances.map((instance) => [instance, serialOf(instance)]))
    damage?.()
    assert.deepEqual(await ensureCertificates({ ...request, ...change }), expect)
    for (const instance of request.instances) {
      if (!expect.includes(instance)) assert.equal(serialOf(instance), before.get(instance))
    }
    assert.deepEqual(await ensureCertificates({ ...request, ...change }), [])
  })
}
