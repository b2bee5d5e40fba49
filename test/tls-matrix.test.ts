// Proves which certificates of clients a server lets in, and which certificates of servers a client takes: eight bad ones
// and two good ones, against a strict server, one that does not look at host names, and one that asks for none.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import path from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { connect } from 'node:tls'
import { pkiTools, revocationFile } from '@svc/cli/pki'
import { type Listeners, listen } from '@svc/shared/http'
import { freePort, recordingLogger, temporaryFolder, testSettings, waitUntil } from '@svc/shared/testing'
import { type ClientTls, fixedStores, followStores, loadTlsStores, type TlsStores } from '@svc/shared/tls'

const tools = await pkiTools()
const folder = temporaryFolder({ after })
const password = 'matrix'
const hosts = ['localhost', '127.0.0.1']
const bad = (name: string) => path.join(tools.badSetFolder(folder), name)

/** The bad certificates are read before they are checked, as a client that does not care would. */
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

/** The moment at which a certificate of the set looks valid to the one who shows it. */
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
  const listeners: Listeners = await listen(
    testSettings('router', properties),
    (_request, response) => response.end('let in'),
    fixedStores(await load(properties, momentOf(certificate))),
    { onRefusedClient: (address, reason) => refusals.push(`${address}: ${reason}`) },
  )
  scope.after(() => listeners.close(0))
  return { port: listeners.tlsPort ?? assert.fail(), refusals }
}

/** The answer of a server, or the code of what kept it from coming. */
async function ask(port: number, tls: ClientTls, agent: Agent | false = false): Promise<string> {
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

// Nobody has a list of revoked certificates of an authority that is not trusted, which is found out first.
const unknownAuthority = /UNABLE_TO_GET_CRL|SELF_SIGNED_CERT_IN_CHAIN/
// The code of Node.js for every fault of a chain that it has no word for, an issuer that is no authority among them.
const noAuthority = /UNSPECIFIED|INVALID_CA/

/** Why each mode refuses a certificate of a client; undefined where it lets it in. */
const clients: Readonly<Record<string, Partial<Record<Mode, RegExp>>>> = {
  good: {},
  'good-intermediate': {},
  'no certificate': { strict: /no client certificate/, 'host names off': /no client certificate/ },
  'wrong-host': { strict: /CN=wrong-host.* is not valid for the host \[127\.0\.0\.1\]/ },
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
  test('of the matrix is one of eight bad ones and two good ones', () => {
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
      test(`${name} is ${reason ? 'refused' : 'let in'} by a server: ${mode}`, async (scope) => {
        const server = await open(scope, modes[mode])
        const shown = name === 'no certificate' ? {} : keyStore('client', name)
        const { client } = await load({ ...trust('client'), ...shown }, momentOf(name))
        const answer = await ask(server.port, client)
        if (!reason) {
          assert.equal(answer, 'let in')
          assert.deepEqual(server.refusals, [])
          return
        }
        assert.notEqual(answer, 'let in')
        await waitUntil('the server says why', () => server.refusals.length === 1)
        assert.match(server.refusals[0] ?? '', reason)
      })
    }
  }

  test('without a certificate is let in where one is only asked for; with a bad one it is not', async (scope) => {
    const server = await open(scope, { 'svc.server.https.requestClientCertificate': 'true' })
    const none = await load(trust('client'), now)
    assert.equal(await ask(server.port, none.client), 'let in')
    const good = await load({ ...trust('client'), ...keyStore('client', 'good') }, now)
    assert.equal(await ask(server.port, good.client), 'let in')
    const revoked = await load({ ...trust('client'), ...keyStore('client', 'revoked') }, now)
    assert.notEqual(await ask(server.port, revoked.client), 'let in')
  })
})

describe('stores that change while requests are answered', () => {
  /** A server with followed stores in files of its own, and a client that keeps its connection. */
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
    const listeners = await listen(settings, (_request, response) => response.end('let in'), stores)
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

  /** A list that revokes nothing, beside that of the intermediate authority. */
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
    const asking = [server.kept, false as const].map(async (agent) => {
      while (!isOver) answers.push(await ask(server.port, client, agent))
    })
    for (const [index, next] of ['good-intermediate', 'good', 'good-intermediate'].entries()) {
      copyFileSync(bad(`${next}.jks`), server.file('server.jks'))
      await waitUntil('the change is seen', () => server.changes() === index + 1)
    }
    isOver = true
    await Promise.all(asking)
    assert.ok(answers.length > 0)
    assert.deepEqual(
      answers.filter((answer) => answer !== 'let in'),
      [],
    )
    const { subject } = await certificateAt(server.port, client)
    assert.equal(subject, 'CN=good-intermediate')
  })

  test('let a client in no more once it is revoked, after the request that is under way', async (scope) => {
    const server = await openChanging(scope)
    const { client } = await load({ ...trust('client'), ...keyStore('client', 'revoked') }, now)
    assert.equal(await ask(server.port, client, server.kept), 'let in')
    copyFileSync(bad('revoked.crl.pem'), server.file('revoked.pem'))
    await waitUntil('the change is seen', () => server.changes() === 1)
    // The connection was there before: one more answer, and it ends.
    assert.equal(await ask(server.port, client, server.kept), 'let in')
    assert.notEqual(await ask(server.port, client, server.kept), 'let in')
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

/** What the client says of each certificate of a server, with host names and without; undefined where it connects. */
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
      test(`${name} is ${reason ? 'refused' : 'taken'} by a client: ${mode}`, async (scope) => {
        const { port } = await open(scope, {}, name)
        const properties = {
          ...trust('client'),
          'svc.client.https.validateHostnames': String(mode === 'strict'),
        }
        const answer = await ask(port, (await load(properties, now)).client)
        if (reason) assert.match(answer, reason)
        else assert.equal(answer, 'let in')
      })
    }
  }
})
