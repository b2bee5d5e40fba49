// Which client certificates a server accepts, and which server certificates a client accepts: eight invalid ones
// and two valid ones, against a strict server, one that does not check hostnames, and one that requests no
// client certificate.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import path from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { connect } from 'node:tls'
import { pkiTools, revocationFile } from '@svc/cli/pki'
import type { RefusedHandshake } from '@svc/domain/access'
import { type Listeners, listen } from '@svc/shared/http'
import { freePort, recordingLogger, temporaryFolder, testSettings, waitUntil } from '@svc/shared/testing'
import { type ClientTls, fixedStores, followStores, loadTlsStores, type TlsStores } from '@svc/shared/tls'

const tools = await pkiTools()
const folder = temporaryFolder({ after })
const password = 'matrix'
const hosts = ['localhost', '127.0.0.1']
const bad = (name: string) => path.join(tools.badSetFolder(folder), name)

/** Loads invalid certificates without checking them, as a careless client would. */
const yearMs = 365 * 24 * 60 * 60 * 1000
const now = Date.now()

before(async () => {
  const pki = { folder, password, now }
  await tools.initAuthority(pki)
  await tools.issueBadSet(pki, hosts)
})

const trust = (side: 'server' | 'client') => ({
  [`svc.${side}.https.trustStoreType`]: 'pkcs12',
  [`svc.${side}.https.trustStorePath`]: bad('trust.p12'),
  [`svc.${side}.https.trustStorePassword`]: password,
  [`svc.${side}.https.crlPath`]: bad('revoked.crl.pem'),
})

const keyStore = (side: 'server' | 'client', name: string) => ({
  [`svc.${side}.https.keyStoreType`]: 'jks',
  [`svc.${side}.https.keyStorePath`]: bad(`${name}.jks`),
  [`svc.${side}.https.keyStorePassword`]: password,
})

/** The time at which a certificate of the set looks valid to its owner. */
const momentOf = (name: string): number =>
  name === 'expired' ? now - yearMs / 36 : name === 'not-yet-valid' ? now + yearMs / 2 : now

async function load(properties: Record<string, string>, at: number): Promise<TlsStores> {
  const loaded = await loadTlsStores(testSettings('router', properties), at)
  assert.equal(loaded.kind, 'loaded', JSON.stringify(loaded))
  return loaded.stores
}

interface OpenServer {
  readonly port: number
  readonly refusals: readonly string[]
  readonly handshakes: readonly RefusedHandshake[]
}

async function open(
  scope: TestContext,
  more: Record<string, string>,
  certificate = 'good',
): Promise<OpenServer> {
  const properties = {
    'svc.enableTlsPort': 'true',
    'svc.enablePlaintextPort': 'false',
    'svc.tlsPort': String(await freePort()),
    ...keyStore('server', certificate),
    ...trust('server'),
    ...more,
  }
  const refusals: string[] = []
  const handshakes: RefusedHandshake[] = []
  const listeners: Listeners = await listen(
    testSettings('router', properties),
    (_request, response) => response.end('accepted'),
    fixedStores(await load(properties, momentOf(certificate))),
    {
      onRefusedClient: (refused) => {
        handshakes.push(refused)
        refusals.push(`${refused.address}: ${refused.reason}`)
      },
    },
  )
  scope.after(() => listeners.close(0))
  return { port: listeners.tlsPort ?? assert.fail(), refusals, handshakes }
}

/**
 * Returns the answer of a server, or the error code of a failed connection. The shared HTTP client repeats requests if a kept
 * connection was reset, which these tests must notice.
 */
async function requestVersion(port: number, tls: ClientTls, agent: Agent | false = false): Promise<string> {
  return await new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, agent, ...tls }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve(text))
    })
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    sent.end()
  })
}

const strict = {
  'svc.server.https.requireClientCertificate': 'true',
  'svc.server.https.validateHostnames': 'true',
}
const modes = {
  strict,
  'host names off': { ...strict, 'svc.server.https.validateHostnames': 'false' },
  'client certificates off': {},
} as const

type Mode = keyof typeof modes

// There is no revocation list of an untrusted authority, and this is detected first.
const unknownAuthority = /UNABLE_TO_GET_CRL|SELF_SIGNED_CERT_IN_CHAIN/
// The code of Node.js for chain errors without a code of their own, including an issuer that is not an
// authority.
const noAuthority = /UNSPECIFIED|INVALID_CA/

/** Why each mode refuses a client certificate; undefined if it accepts it. */
const clients: Readonly<Record<string, Partial<Record<Mode, RegExp>>>> = {
  good: {},
  'good-intermediate': {},
  'no certificate': { strict: /no client certificate/, 'host names off': /no client certificate/ },
  'wrong-host': { strict: /CN=wrong-host.* is not valid for the client's host \[127\.0\.0\.1\]/ },
  'other-ca': both(unknownAuthority),
  expired: both(/CERT_HAS_EXPIRED/),
  'not-yet-valid': both(/CERT_NOT_YET_VALID/),
  revoked: both(/CERT_REVOKED/),
  'not-ca-signed': both(noAuthority),
  'intermediate-missing': both(/UNABLE_TO_GET_ISSUER_CERT_LOCALLY|UNABLE_TO_VERIFY_LEAF_SIGNATURE/),
}

function both(reason: RegExp): Partial<Record<Mode, RegExp>> {
  return { strict: reason, 'host names off': reason }
}

describe('a client', () => {
  test('of the matrix has one of eight invalid or two valid certificates', () => {
    assert.equal(Object.keys(clients).length, 10)
    const inSet = [...tools.badCertificates, ...tools.goodCertificates]
    assert.deepEqual(
      Object.keys(clients)
        .filter((name) => name !== 'no certificate')
        .sort(),
      [...inSet].sort(),
    )
  })

  for (const mode of Object.keys(modes) as Mode[]) {
    for (const [name, reasons] of Object.entries(clients)) {
      const reason = reasons[mode]
      test(`${name} is ${reason ? 'refused' : 'accepted'} by a server: ${mode}`, async (scope) => {
        const server = await open(scope, modes[mode])
        const shown = name === 'no certificate' ? {} : keyStore('client', name)
        const { client } = await load({ ...trust('client'), ...shown }, momentOf(name))
        const answer = await requestVersion(server.port, client)
        if (!reason) {
          assert.equal(answer, 'accepted')
          assert.deepEqual(server.refusals, [])
          return
        }
        assert.notEqual(answer, 'accepted')
        await waitUntil('the server logs the reason', () => server.refusals.length === 1)
        assert.match(server.refusals[0] ?? '', reason)
      })
    }
  }

  test('is reported with its certificate, authority, names, and validity', async (scope) => {
    const server = await open(scope, strict)
    const { client } = await load(
      { ...trust('client'), ...keyStore('client', 'expired') },
      momentOf('expired'),
    )
    assert.notEqual(await requestVersion(server.port, client), 'accepted')
    await waitUntil('the server reports the handshake', () => server.handshakes.length === 1)
    const [{ id, time, address, code, certificate }] = server.handshakes as [RefusedHandshake]
    assert.match(id, /^[\da-f-]{36}$/)
    assert.deepEqual([address, code], ['127.0.0.1', 'CERT_HAS_EXPIRED'])
    assert.ok(certificate !== null)
    assert.match(certificate.subject, /CN=expired/)
    assert.match(certificate.issuer, /CN=/)
    assert.match(certificate.names, /127\.0\.0\.1/)
    assert.ok(certificate.validFrom < certificate.validTo && certificate.validTo < time)
  })

  test('that offers no allowed protocol is reported without a certificate', async (scope) => {
    const server = await open(scope, {})
    const { client } = await load(trust('client'), now)
    const old = {
      ...client,
      minVersion: 'TLSv1.1',
      maxVersion: 'TLSv1.1',
      ciphers: 'ALL:@SECLEVEL=0',
    } as const
    assert.notEqual(await requestVersion(server.port, old), 'accepted')
    await waitUntil('the server reports the protocol', () => server.handshakes.length === 1)
    assert.deepEqual(
      server.handshakes.map(({ code, address, certificate }) => [code, address, certificate]),
      [['ERR_SSL_UNSUPPORTED_PROTOCOL', '127.0.0.1', null]],
    )
  })

  test('without a certificate is accepted if certificates are optional; with an invalid one it is not', async (scope) => {
    const server = await open(scope, { 'svc.server.https.requestClientCertificate': 'true' })
    const none = await load(trust('client'), now)
    assert.equal(await requestVersion(server.port, none.client), 'accepted')
    const good = await load({ ...trust('client'), ...keyStore('client', 'good') }, now)
    assert.equal(await requestVersion(server.port, good.client), 'accepted')
    const revoked = await load({ ...trust('client'), ...keyStore('client', 'revoked') }, now)
    assert.notEqual(await requestVersion(server.port, revoked.client), 'accepted')
  })
})

describe('stores that change while requests are answered', () => {
  /** A server that watches its own stores, and a client that keeps its connection. */
  async function openChanging(scope: TestContext) {
    const own = temporaryFolder(scope)
    const file = (name: string) => path.join(own, name)
    copyFileSync(bad('good.jks'), file('server.jks'))
    await writeNothingRevoked(file('revoked.pem'))
    const properties = {
      'svc.enableTlsPort': 'true',
      'svc.enablePlaintextPort': 'false',
      'svc.tlsPort': String(await freePort()),
      ...keyStore('server', 'good'),
      ...trust('server'),
      'svc.server.https.keyStorePath': file('server.jks'),
      'svc.server.https.crlPath': file('revoked.pem'),
      'svc.server.https.requestClientCertificate': 'true',
    }
    const settings = testSettings('router', properties)
    const stores = followStores(settings, await load(properties, now), recordingLogger(), () => undefined)
    const listeners = await listen(settings, (_request, response) => response.end('accepted'), stores)
    const kept = new Agent({ keepAlive: true, maxSockets: 1 })
    scope.after(async () => {
      kept.destroy()
      await stores.stop()
      await listeners.close(0)
    })
    let changes = 0
    stores.onChange(() => {
      changes += 1
    })
    return { port: listeners.tlsPort ?? assert.fail(), file, kept, changes: () => changes }
  }

  /** A list that revokes nothing, in addition to that of the intermediate authority. */
  async function writeNothingRevoked(file: string): Promise<void> {
    const [, ofIntermediate = ''] = readFileSync(bad('revoked.crl.pem'), 'utf8').split(
      /(?<=-----END X509 CRL-----\n)/,
    )
    writeFileSync(file, readFileSync(revocationFile(folder), 'utf8') + ofIntermediate)
  }

  test('serve every request, with the new certificate from the next connection on', async (scope) => {
    const server = await openChanging(scope)
    const { client } = await load(trust('client'), now)
    const answers: string[] = []
    let isOver = false
    const requesting = [server.kept, false as const].map(async (agent) => {
      while (!isOver) answers.push(await requestVersion(server.port, client, agent))
    })
    for (const [index, next] of ['good-intermediate', 'good', 'good-intermediate'].entries()) {
      copyFileSync(bad(`${next}.jks`), server.file('server.jks'))
      await waitUntil('the change is detected', () => server.changes() === index + 1)
    }
    isOver = true
    await Promise.all(requesting)
    assert.ok(answers.length > 0)
    assert.deepEqual(
      answers.filter((answer) => answer !== 'accepted'),
      [],
    )
    const { subject } = await certificateAt(server.port, client)
    assert.equal(subject, 'CN=good-intermediate')
  })

  test('reject a client once its certificate is revoked, after the request in flight', async (scope) => {
    const server = await openChanging(scope)
    const { client } = await load({ ...trust('client'), ...keyStore('client', 'revoked') }, now)
    assert.equal(await requestVersion(server.port, client, server.kept), 'accepted')
    copyFileSync(bad('revoked.crl.pem'), server.file('revoked.pem'))
    await waitUntil('the change is detected', () => server.changes() === 1)
    // The existing connection gets one more answer, and then closes.
    assert.equal(await requestVersion(server.port, client, server.kept), 'accepted')
    assert.notEqual(await requestVersion(server.port, client, server.kept), 'accepted')
  })
})

/** The certificate that a server shows to a new connection. */
async function certificateAt(port: number, tls: ClientTls): Promise<{ subject: string }> {
  const socket = connect({ host: '127.0.0.1', port, ...tls })
  await once(socket, 'secureConnect')
  const subject = socket.getPeerX509Certificate()?.subject ?? ''
  socket.destroy()
  return { subject }
}

/**
 * The client's error for each server certificate, with and without hostname checks; undefined if it connects.
 */
const servers: Readonly<Record<string, { readonly strict?: RegExp; readonly hostNamesOff?: RegExp }>> = {
  good: {},
  'good-intermediate': {},
  'wrong-host': { strict: /ERR_TLS_CERT_ALTNAME_INVALID/ },
  'other-ca': always(unknownAuthority),
  expired: always(/CERT_HAS_EXPIRED/),
  'not-yet-valid': always(/CERT_NOT_YET_VALID/),
  revoked: always(/CERT_REVOKED/),
  'not-ca-signed': always(noAuthority),
  'intermediate-missing': always(/UNABLE_TO_GET_ISSUER_CERT_LOCALLY|UNABLE_TO_VERIFY_LEAF_SIGNATURE/),
}

function always(reason: RegExp) {
  return { strict: reason, hostNamesOff: reason }
}

describe('a server', () => {
  for (const [name, reasons] of Object.entries(servers)) {
    for (const mode of ['strict', 'hostNamesOff'] as const) {
      const reason = reasons[mode]
      test(`${name} is ${reason ? 'refused' : 'accepted'} by a client: ${mode}`, async (scope) => {
        const { port } = await open(scope, {}, name)
        const properties = {
          ...trust('client'),
          'svc.client.https.validateHostnames': String(mode === 'strict'),
        }
        const answer = await requestVersion(port, (await load(properties, now)).client)
        if (reason) assert.match(answer, reason)
        else assert.equal(answer, 'accepted')
      })
    }
  }
})
