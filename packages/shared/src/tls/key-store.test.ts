import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder, testSettings } from '../testing/index.ts'
import { certificateEnds, type KeyPair, loadTlsStores, type TlsStores } from './index.ts'

const stores = fileURLToPath(new URL('../../../../test/fixtures/stores/', import.meta.url))
const folder = temporaryFolder({ after })
const store = (name: string): string => path.join(name.endsWith('.made') ? folder : stores, name)

const password = 'changeit'

async function storesOf(properties: Record<string, string>): Promise<TlsStores> {
  const loaded = await loadTlsStores(testSettings('router', properties), Date.now())
  if (loaded.kind === 'loaded') return loaded.stores
  throw new Error(loaded.problems.join('\n'))
}

async function identityOf(file: string, more: Record<string, string> = {}): Promise<KeyPair> {
  const { server } = await storesOf({
    'svc.enableTlsPort': 'true',
    'svc.server.https.keyStorePath': store(file),
    'svc.server.https.keyStorePassword': password,
    ...more,
  })
  return server?.identity ?? assert.fail()
}

async function trustedBy(file: string, more: Record<string, string> = {}): Promise<readonly string[]> {
  const { client } = await storesOf({
    'svc.client.https.trustStorePath': store(file),
    'svc.client.https.trustStorePassword': password,
    ...more,
  })
  return client.ca as string[]
}
const pem = { 'svc.server.https.keyStoreType': 'pem' }

function subjectsOf(identity: KeyPair): string[] {
  const certificates = identity.cert.match(/-----BEGIN[^-]+-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return certificates.map((certificate) => new X509Certificate(certificate).subject)
}

before(async () => {
  // Key stores in PEM are made from the others.
  const { key, cert } = await identityOf('rsa.jks')
  const encrypted = createPrivateKey(key).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: password,
  })
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  })
  const notes = 'Bag Attributes\n    friendlyName: server\n'
  writeFileSync(store('encrypted.made'), `${notes}${encrypted}${notes}${cert}`)
  writeFileSync(store('certificate-first.made'), `${cert}\n${encrypted}`)
  writeFileSync(store('open.made'), `${key}${cert}`)
  writeFileSync(store('no-key.made'), cert)
  writeFileSync(store('no-certificate.made'), encrypted)
  writeFileSync(store('foreign-key.made'), `${stranger}${cert}`)
  writeFileSync(store('empty.made'), '')
})

describe('a key store', () => {
  const good: readonly [file: string, more: Record<string, string>, keyType: string][] = [
    ['rsa.jks', {}, 'rsa'],
    ['ec.jks', {}, 'ec'],
    ['rsa-pkcs12.jks', { 'svc.server.https.keyStoreType': 'jks' }, 'rsa'],
    ['rsa-pkcs12.jks', { 'svc.server.https.keyStoreType': 'pkcs12' }, 'rsa'],
    ['ec.p12', { 'svc.server.https.keyStoreType': 'pkcs12' }, 'ec'],
    ['rsa.jks', { 'svc.server.https.certAlias': 'server' }, 'rsa'],
    ['rsa.jks', { 'svc.server.https.certAlias': 'SERVER' }, 'rsa'],
    ['rsa-unnamed.p12', {}, 'rsa'],
    ['ec-unnamed.p12', { 'svc.server.https.keyStoreType': 'pkcs12' }, 'ec'],
    ['ec-unnamed.p12', { 'svc.server.https.certAlias': '1' }, 'ec'],
    ['encrypted.made', pem, 'rsa'],
    ['certificate-first.made', pem, 'rsa'],
    ['open.made', pem, 'rsa'],
  ]
  for (const [file, more, keyType] of good) {
    it(`${file} ${Object.values(more).join()} gives the key and its chain`, async () => {
      const identity = await identityOf(file, more)
      assert.equal(createPrivateKey(identity.key).asymmetricKeyType, keyType)
      assert.deepEqual(subjectsOf(identity), ['CN=server', 'CN=authority'])
      const [leaf] = identity.cert.split(/(?<=-----END CERTIFICATE-----)/)
      assert.ok(new X509Certificate(leaf ?? '').checkPrivateKey(createPrivateKey(identity.key)))
    })
  }

  it('gives the key that its alias names', async () => {
    for (const alias of ['first', 'second']) {
      const [subject] = subjectsOf(await identityOf('two-keys.jks', { 'svc.server.https.certAlias': alias }))
      assert.equal(subject, `CN=${alias}`)
    }
  })

  it('gives a key that has a password of its own', async () => {
    const more = { 'svc.server.https.keyManagerPassword': 'different' }
    assert.deepEqual(subjectsOf(await identityOf('own-key-password.jks', more)), ['CN=server'])
  })

  const bad: readonly [name: string, file: string, more: Record<string, string>, message: RegExp][] = [
    ['that is not there', 'nowhere.jks', {}, /cannot be read \(ENOENT\)$/],
    ['that is a folder', '', {}, /cannot be read \(EISDIR\)$/],
    [
      'whose password is wrong',
      'rsa.jks',
      { 'svc.server.https.keyStorePassword': 'wrong' },
      /is its password right/,
    ],
    [
      'whose password is not given',
      'rsa.jks',
      { 'svc.server.https.keyStorePassword': '' },
      /is its password right/,
    ],
    [
      'in PKCS12 whose password is wrong',
      'ec.p12',
      { 'svc.server.https.keyStorePassword': 'wrong', 'svc.server.https.keyStoreType': 'pkcs12' },
      /is its password right/,
    ],
    ['whose key has a password of its own', 'own-key-password.jks', {}, /cannot be opened/],
    ['that is none', 'README.md', {}, /is it a JKS or PKCS12 store\?$/],
    ['that is empty', 'empty.made', {}, /is it a JKS or PKCS12 store\?$/],
    ['with certificates only', 'trust.jks', {}, /holds no private key$/],
    [
      'without the alias',
      'two-keys.jks',
      { 'svc.server.https.certAlias': 'third' },
      /has no key under \[third\] of \[svc\.server\.https\.certAlias\]; it has \[.*(first, second|second, first)\]$/,
    ],
    [
      'whose alias names a certificate',
      'rsa.jks',
      { 'svc.server.https.certAlias': 'authority' },
      /has no key under \[authority\].*it has \[server\]$/,
    ],
    [
      'whose alias is special to JavaScript',
      'rsa.jks',
      { 'svc.server.https.certAlias': '__proto__' },
      /has no key under \[__proto__\]/,
    ],
    [
      'that has expired',
      'expired.jks',
      {},
      /holds a certificate that expired on \[Jan {2}2 00:00:00 2020 GMT\]$/,
    ],
    [
      'in PEM whose password is wrong',
      'encrypted.made',
      { ...pem, 'svc.server.https.keyStorePassword': 'wrong' },
      /cannot be opened; is \[svc\.server\.https\.keyStorePassword\] right\?$/,
    ],
    [
      'in PEM with an alias',
      'encrypted.made',
      { ...pem, 'svc.server.https.certAlias': 'server' },
      /is PEM, which knows no aliases: take \[server\] of \[svc\.server\.https\.certAlias\] away$/,
    ],
    ['in PEM without a key', 'no-key.made', pem, /holds no private key$/],
    ['in PEM without a certificate', 'no-certificate.made', pem, /holds no certificate$/],
    [
      'in PEM with the key of another certificate',
      'foreign-key.made',
      pem,
      /is not the one of its certificate$/,
    ],
    ['in JKS taken for PEM', 'rsa.jks', pem, /holds no private key$/],
  ]
  for (const [name, file, more, message] of bad) {
    it(`${name} is told with its file and property`, async () => {
      await assert.rejects(identityOf(file, more), (error: Error) => {
        assert.ok(
          error.message.startsWith(`The key store [${store(file)}] of [svc.server.https.keyStorePath] `),
          error.message,
        )
        assert.match(error.message, message)
        assert.ok(!error.message.includes(password))
        return true
      })
    })
  }
})

describe('the ends of certificates', () => {
  it('are those of the server, of what it shows as a client, and of the first authority that runs out', async () => {
    const both = await storesOf({
      'svc.enableTlsPort': 'true',
      'svc.server.https.keyStorePath': store('rsa.jks'),
      'svc.server.https.keyStorePassword': password,
      'svc.client.https.keyStorePath': store('ec.jks'),
      'svc.client.https.keyStorePassword': password,
      'svc.client.https.trustStorePath': store('trust.jks'),
      'svc.client.https.trustStorePassword': password,
    })
    const endOf = (pem: unknown) => new X509Certificate(String(pem)).validToDate.getTime()
    assert.deepEqual(certificateEnds(both), {
      server: endOf(both.server?.identity.cert),
      client: endOf(both.client.cert),
      authority: endOf(both.client.ca),
    })
  })

  it('are left out where there are none', async () => {
    assert.deepEqual(certificateEnds(await storesOf({})), {})
  })
})

describe('a trust store', () => {
  it('is none where none is named: the certificates of the system count', async () => {
    assert.equal((await storesOf({})).client.ca, undefined)
  })

  const good: readonly [file: string, type: string][] = [
    ['trust.jks', 'jks'],
    ['trust.p12', 'jks'],
    ['trust.p12', 'pkcs12'],
    ['authority.pem', 'pem'],
  ]
  for (const [file, type] of good) {
    it(`${file} as ${type} gives its certificates`, async () => {
      const trusted = await trustedBy(file, { 'svc.client.https.trustStoreType': type })
      assert.equal(trusted.length, 1)
      const expected = new X509Certificate(readFileSync(store('authority.pem')))
      assert.equal(new X509Certificate(trusted[0] ?? '').fingerprint256, expected.fingerprint256)
    })
  }

  const bad: readonly [name: string, file: string, more: Record<string, string>, message: RegExp][] = [
    ['that is not there', 'nowhere.jks', {}, /cannot be read \(ENOENT\)$/],
    [
      'whose password is wrong',
      'trust.jks',
      { 'svc.client.https.trustStorePassword': 'wrong' },
      /is its password right/,
    ],
    ['that is none', 'README.md', {}, /is it a JKS or PKCS12 store\?$/],
    [
      'in PEM that holds none',
      'README.md',
      { 'svc.client.https.trustStoreType': 'pem' },
      /holds no certificate$/,
    ],
  ]
  for (const [name, file, more, message] of bad) {
    it(`${name} is told with its file and property`, async () => {
      await assert.rejects(trustedBy(file, more), (error: Error) => {
        assert.ok(
          error.message.startsWith(`The trust store [${store(file)}] of [svc.client.https.trustStorePath] `),
        )
        assert.match(error.message, message)
        return true
      })
    })
  }
})
