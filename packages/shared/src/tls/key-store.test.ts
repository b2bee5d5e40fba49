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
  // The PEM key stores are derived from the others.
  const { key, cert } = await identityOf('rsa.jks')
  const encrypted = createPrivateKey(key).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: password,
  })
  const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  })
  const notes = 'Bag Attributes\n    friendlyName: server\n'
  writeFileSync(store('encrypted.made'), `${notes}${encrypted}${notes}${cert}`)
  writeFileSync(store('certificate-first.made'), `${cert}\n${encrypted}`)
  writeFileSync(store('open.made'), `${key}${cert}`)
  writeFileSync(store('no-key.made'), cert)
  writeFileSync(store('no-certificate.made'), encrypted)
  writeFileSync(store('foreign-key.made'), `${otherKey}${cert}`)
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
    it(`${file} ${Object.values(more).join()}yields the key and its chain`, async () => {
      const identity = await identityOf(file, more)
      assert.equal(createPrivateKey(identity.key).asymmetricKeyType, keyType)
      assert.deepEqual(subjectsOf(identity), ['CN=server', 'CN=authority'])
      const [leaf] = identity.cert.split(/(?<=-----END CERTIFICATE-----)/)
      assert.ok(new X509Certificate(leaf ?? '').checkPrivateKey(createPrivateKey(identity.key)))
    })
  }

  it('yields the key of the given alias', async () => {
    for (const alias of ['first', 'second']) {
      const [subject] = subjectsOf(await identityOf('two-keys.jks', { 'svc.server.https.certAlias': alias }))
      assert.equal(subject, `CN=${alias}`)
    }
  })

  it('yields a key that has its own password', async () => {
    const more = { 'svc.server.https.keyManagerPassword': 'different' }
    assert.deepEqual(subjectsOf(await identityOf('own-key-password.jks', more)), ['CN=server'])
  })

  const bad: readonly [name: string, file: string, more: Record<string, string>, message: RegExp][] = [
    ['that does not exist', 'nowhere.jks', {}, /cannot be read \(ENOENT\)$/],
    ['that is a folder', '', {}, /cannot be read \(EISDIR\)$/],
    [
      'with a wrong password',
      'rsa.jks',
      { 'svc.server.https.keyStorePassword': 'wrong' },
      /check its password/,
    ],
    ['without its password', 'rsa.jks', { 'svc.server.https.keyStorePassword': '' }, /check its password/],
    [
      'in PKCS12 with a wrong password',
      'ec.p12',
      { 'svc.server.https.keyStorePassword': 'wrong', 'svc.server.https.keyStoreType': 'pkcs12' },
      /check its password/,
    ],
    ['whose key has its own password', 'own-key-password.jks', {}, /cannot be opened/],
    ['that is a different kind of file', 'README.md', {}, /a JKS or PKCS12 store$/],
    ['that is empty', 'empty.made', {}, /a JKS or PKCS12 store$/],
    ['with certificates only', 'trust.jks', {}, /contains no private key$/],
    [
      'without the given alias',
      'two-keys.jks',
      { 'svc.server.https.certAlias': 'third' },
      /has no key with the alias \[third\] from \[svc\.server\.https\.certAlias\]; the store has the aliases \[.*(first, second|second, first)\]$/,
    ],
    [
      'whose alias names a certificate',
      'rsa.jks',
      { 'svc.server.https.certAlias': 'authority' },
      /has no key with the alias \[authority\].*the store has the aliases \[server\]$/,
    ],
    [
      'whose alias has a special meaning in JavaScript',
      'rsa.jks',
      { 'svc.server.https.certAlias': '__proto__' },
      /has no key with the alias \[__proto__\]/,
    ],
    [
      'that has expired',
      'expired.jks',
      {},
      /contains a certificate that expired on \[Jan {2}2 00:00:00 2020 GMT\]$/,
    ],
    [
      'in PEM with a wrong password',
      'encrypted.made',
      { ...pem, 'svc.server.https.keyStorePassword': 'wrong' },
      /cannot be decrypted; check \[svc\.server\.https\.keyStorePassword\]$/,
    ],
    [
      'in PEM with an alias',
      'encrypted.made',
      { ...pem, 'svc.server.https.certAlias': 'server' },
      /is in PEM format, which has no aliases, but \[svc\.server\.https\.certAlias\] is \[server\]; remove this property$/,
    ],
    ['in PEM without a key', 'no-key.made', pem, /contains no private key$/],
    ['in PEM without a certificate', 'no-certificate.made', pem, /contains no certificate$/],
    [
      'in PEM with the key of another certificate',
      'foreign-key.made',
      pem,
      /does not match its certificate$/,
    ],
    ['in JKS configured as PEM', 'rsa.jks', pem, /contains no private key$/],
  ]
  for (const [name, file, more, message] of bad) {
    it(`${name} is reported with its file and property`, async () => {
      await assert.rejects(identityOf(file, more), (error: Error) => {
        assert.ok(
          error.message.startsWith(`The key store [${store(file)}] from [svc.server.https.keyStorePath] `),
          error.message,
        )
        assert.match(error.message, message)
        assert.ok(!error.message.includes(password))
        return true
      })
    })
  }
})

describe('certificate expiry times', () => {
  it('cover the server certificate, the client certificate, and the first authority to expire', async () => {
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

  it('are left out if there are no certificates', async () => {
    assert.deepEqual(certificateEnds(await storesOf({})), {})
  })
})

describe('a trust store', () => {
  it('is undefined if none is configured, so the system certificates apply', async () => {
    assert.equal((await storesOf({})).client.ca, undefined)
  })

  const good: readonly [file: string, type: string][] = [
    ['trust.jks', 'jks'],
    ['trust.p12', 'jks'],
    ['trust.p12', 'pkcs12'],
    ['authority.pem', 'pem'],
  ]
  for (const [file, type] of good) {
    it(`${file} as ${type}yields its certificates`, async () => {
      const trusted = await trustedBy(file, { 'svc.client.https.trustStoreType': type })
      assert.equal(trusted.length, 1)
      const expected = new X509Certificate(readFileSync(store('authority.pem')))
      assert.equal(new X509Certificate(trusted[0] ?? '').fingerprint256, expected.fingerprint256)
    })
  }

  const bad: readonly [name: string, file: string, more: Record<string, string>, message: RegExp][] = [
    ['that does not exist', 'nowhere.jks', {}, /cannot be read \(ENOENT\)$/],
    [
      'with a wrong password',
      'trust.jks',
      { 'svc.client.https.trustStorePassword': 'wrong' },
      /check its password/,
    ],
    ['that is a different kind of file', 'README.md', {}, /a JKS or PKCS12 store$/],
    [
      'in PEM without certificates',
      'README.md',
      { 'svc.client.https.trustStoreType': 'pem' },
      /contains no certificate$/,
    ],
  ]
  for (const [name, file, more, message] of bad) {
    it(`${name} is reported with its file and property`, async () => {
      await assert.rejects(trustedBy(file, more), (error: Error) => {
        assert.ok(
          error.message.startsWith(
            `The trust store [${store(file)}] from [svc.client.https.trustStorePath] `,
          ),
        )
        assert.match(error.message, message)
        return true
      })
    })
  }
})
