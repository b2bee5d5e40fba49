import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import type { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { temporaryFolder, testSettings } from '@svc/shared/testing'
import { leafOf, loadTlsStores } from '@svc/shared/tls'
import { pkiTools, revocationFile } from './index.ts'

const tools = await pkiTools()
const folder = temporaryFolder({ after })
const pki = { folder, password: 'the password of all', now: Date.now() }
const hosts = ['localhost', '127.0.0.1', '::1']
const types = ['pem', 'jks', 'pkcs12'] as const
const extensions = { pem: 'pem', jks: 'jks', pkcs12: 'p12' }

before(async () => {
  await tools.initAuthority(pki)
  await tools.issueStores(pki, 'server', { hosts, types, days: 30 })
})

/** Loads the stores of a certificate as a server does. */
async function load(name: string, type: (typeof types)[number], crl = false) {
  const trust = path.join(folder, `authority.${extensions[type]}`)
  return await loadTlsStores(
    testSettings('router', {
      'svc.enableTlsPort': 'true',
      'svc.server.https.keyStoreType': type,
      'svc.server.https.keyStorePath': path.join(folder, `${name}.${extensions[type]}`),
      'svc.server.https.keyStorePassword': pki.password,
      'svc.client.https.trustStoreType': type,
      'svc.client.https.trustStorePath': trust,
      'svc.client.https.trustStorePassword': pki.password,
      ...(crl ? { 'svc.client.https.crlPath': revocationFile(folder) } : {}),
    }),
    Date.now(),
  )
}

async function leafIn(name: string, type: (typeof types)[number]): Promise<X509Certificate> {
  const loaded = await load(name, type)
  assert.equal(loaded.kind, 'loaded', JSON.stringify(loaded))
  const identity = loaded.stores.server?.identity
  return (identity && leafOf(identity)) ?? assert.fail()
}

describe('stores of the development authority', () => {
  for (const type of types) {
    it(`can be read by servers as ${type}`, async () => {
      const loaded = await load('server', type, true)
      assert.equal(loaded.kind, 'loaded', JSON.stringify(loaded))
      const { server, client } = loaded.stores
      assert.equal(server?.identity.cert.match(/BEGIN CERTIFICATE/g)?.length, 2)
      assert.equal((client.ca as string[]).length, 1)
      assert.equal((await leafIn('server', type)).subject, 'CN=server')
    })
  }

  const java = spawnSync('keytool', ['-help']).status === 0
  for (const name of ['server.jks', 'server.p12', 'authority.jks', 'authority.p12']) {
    // Stores written by keytool are among the fixtures, so reading those is always tested.
    it(`can be read by Java's keytool, if installed: ${name}`, () => {
      if (!java) return
      const listed = execFileSync(
        'keytool',
        ['-list', '-v', '-keystore', path.join(folder, name), '-storepass', pki.password],
        { encoding: 'utf8' },
      )
      const [alias] = name.split('.') as [string]
      assert.ok(listed.includes(`Alias name: ${alias}`), listed)
      assert.match(listed, alias === 'server' ? /PrivateKeyEntry[\s\S]*chain length: 2/ : /trustedCertEntry/)
    })
  }

  it('written by keytool, if installed, can be read by servers', async () => {
    if (!java) return
    const file = path.join(folder, 'fresh.p12')
    execFileSync(
      'keytool',
      ['-genkeypair', '-alias', 'fresh', '-keyalg', 'EC', '-dname', 'CN=fresh', '-keystore', file].concat([
        '-storetype',
        'PKCS12',
        '-storepass',
        pki.password,
      ]),
      { stdio: 'pipe' },
    )
    assert.equal((await leafIn('fresh', 'pkcs12')).subject, 'CN=fresh')
  })
})

describe('a reissued certificate', () => {
  it('has a new key for the same hosts, in the same formats', async () => {
    await tools.issueStores(pki, 'rotated', { hosts, types, days: 30 })
    const first = await leafIn('rotated', 'jks')
    const files = await tools.rotateStores(pki, ['rotated'])
    assert.equal(files.length, types.length)
    for (const type of types) {
      const next = await leafIn('rotated', type)
      assert.notEqual(next.serialNumber, first.serialNumber)
      assert.equal(next.subjectAltName, first.subjectAltName)
    }
  })

  it('can be expired', async () => {
    await tools.issueStores(pki, 'expired', { hosts, types, days: 30 })
    await tools.expireStores(pki, 'expired')
    for (const type of types) {
      const loaded = await load('expired', type)
      assert.equal(loaded.kind, 'faulty')
      assert.match(loaded.problems.join(), /contains a certificate that expired on/)
    }
  })

  it('replaces only the named certificates, or all', async () => {
    const server = await leafIn('server', 'pem')
    await tools.rotateStores(pki, ['rotated'])
    assert.equal((await leafIn('server', 'pem')).serialNumber, server.serialNumber)
    await tools.rotateStores(pki, [])
    assert.notEqual((await leafIn('server', 'pem')).serialNumber, server.serialNumber)
  })

  const refused: readonly [name: string, message: RegExp][] = [
    ['nobody', /There is no certificate \[nobody\] in .*; expected one of .*\[server\]/],
    ['../server', /^Failure: Invalid certificate name/],
    ['authority', /^Failure: Invalid certificate name/],
    ['', /^Failure: Invalid certificate name/],
  ]
  for (const [name, message] of refused) {
    it(`is rejected for [${name}]`, async () => {
      await assert.rejects(tools.rotateStores(pki, [name]), message)
    })
  }
})

it('adds each revoked certificate to the revocation list once', async () => {
  const sizeBefore = readFileSync(revocationFile(folder)).length
  await tools.revokeCertificate(pki, 'server')
  await tools.revokeCertificate(pki, 'server')
  const once = readFileSync(revocationFile(folder)).length
  assert.ok(once > sizeBefore)
  await tools.issueStores(pki, 'second', { hosts, types: ['pem'], days: 1 })
  await tools.revokeCertificate(pki, 'second')
  assert.ok(readFileSync(revocationFile(folder)).length > once)
})

it('rejects issuing in a folder without an authority', async (scope) => {
  const empty = { ...pki, folder: temporaryFolder(scope) }
  await assert.rejects(tools.issueStores(empty, 'server', { hosts, types, days: 1 }), /\.\/svc pki init/)
})
