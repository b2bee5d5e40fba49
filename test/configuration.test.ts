// A service with an invalid configuration exits at once with one plain message that names every problem with its
// source, property, value, and what is expected. The environment overrides files, and passwords are never shown.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readSecret, secretNames } from '@svc/cli/home'
import {
  configurationFiles,
  runService,
  type ServiceEnd,
  type ServiceStart,
} from './support/service-process.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'

const folder = newTestFolder()
after(() => removeTestFolder(folder))
const files = configurationFiles(folder)
const secret = 'very-secret-value'

const longestMs = 2000
let fastestMs = Number.POSITIVE_INFINITY

/** Starts a service with an invalid configuration; returns its message. */
async function refusedStart(start: Omit<ServiceStart, 'folder'>): Promise<string> {
  const end = await runService({ ...start, folder })
  fastestMs = Math.min(fastestMs, end.tookMs)
  assertPlain(end)
  return end.stderr
}

function assertPlain({ status, stdout, stderr }: ServiceEnd): void {
  assert.equal(status, 1, `${stdout}${stderr}`)
  assert.equal(stdout, '', 'there is other output than the message')
  assert.notEqual(stderr, '')
  // One message for people: no stack trace, no log line.
  assert.doesNotMatch(stderr, /^\s+at |node:internal|^\{|Error:/m)
  assert.ok(!stderr.includes(secret), stderr)
}

function assertNames(message: string, parts: readonly string[]): void {
  for (const part of parts)
    assert.ok(message.includes(part), `the message does not name [${part}]:\n${message}`)
}

/** An invalid value, and what the message says is expected. */
const badValues: [line: string, allowed: string][] = [
  ['svc.plaintextPort=http', 'an integer from 1 to 65535'],
  ['svc.plaintextPort=0', 'an integer from 1 to 65535'],
  ['svc.tlsPort=65536', 'an integer from 1 to 65535'],
  ['svc.tlsPort=8281.5', 'an integer from 1 to 65535'],
  ['svc.host=', 'non-empty'],
  ['svc.bindOnHost=yes', 'true or false'],
  ['svc.enableTlsPort=TRUE', 'true or false'],
  ['svc.log.level=loud', 'error, warn, info, debug'],
  ['svc.coordinator.period=5s', 'ISO 8601 duration'],
  ['svc.coordinator.period=P1M', 'ISO 8601 duration'],
  ['svc.server.maxSize=10 apples', 'a size in bytes'],
  ['svc.server.maxSize=-1', 'a size in bytes'],
  ['svc.server.priority=high', 'an integer'],
  ['svc.segmentCache.locations=/data/cache', 'a JSON list'],
  ['svc.segmentCache.locations=[{"maxSize":1}]', 'a JSON list'],
  ['svc.segmentCache.locations=[{"path":"x","size":1}]', 'a JSON list'],
  ['svc.segmentCache.numLoadingThreads=0', 'an integer from 1'],
  ['svc.auth.authenticatorChain=Basic', 'a JSON list of strings'],
  ['svc.auth.authorizers=[1]', 'a JSON list of strings'],
  ['svc.storage.type=hdfs', 'local'],
  ['svc.metadata.storage.type=mysql', 'postgresql'],
  ['svc.server.https.keyStoreType=bks', 'jks, pkcs12, pem'],
  ['svc.client.https.protocol=SSLv3', 'TLSv1.2'],
  ['svc.escalator.type=kerberos', 'noop, basic'],
  ['svc.worker.capacity=many', 'an integer'],
]

/** An unknown name, and the suggested one. */
const misspelled: [name: string, nearest: string][] = [
  ['svc.plaintextPrt', 'svc.plaintextPort'],
  ['svc.PlaintextPort', 'svc.plaintextPort'],
  ['svc.coordinator.periode', 'svc.coordinator.period'],
  ['svc.segmentCache.location', 'svc.segmentCache.locations'],
  ['svc.metadata.storage.connector.passwort', 'svc.metadata.storage.connector.password'],
  ['svc.auth.authenticator.mine.kind', 'svc.auth.authenticator.mine.type'],
  ['svc.auth.authenticator.mine.initialAdminPasword', 'svc.auth.authenticator.mine.initialAdminPassword'],
]

const login = [
  'svc.auth.authenticatorChain=["mine"]',
  'svc.auth.authenticator.mine.type=basic',
  'svc.auth.authenticator.mine.authorizerName=yours',
  'svc.auth.authorizers=["yours"]',
  'svc.auth.authorizer.yours.type=basic',
  'svc.escalator.type=basic',
  `svc.escalator.internalClientPassword=${secret}`,
]
const loginWithout = (name: string, ...instead: string[]) => [
  ...login.filter((line) => !line.startsWith(`${name}=`)),
  ...instead,
]

/** Properties that are valid alone but contradict each other, and what the message must name. */
const contradictions: { name: string; lines: string[]; names: string[] }[] = [
  {
    name: 'no port at all',
    lines: ['svc.enablePlaintextPort=false', 'svc.enableTlsPort=false'],
    names: ['svc.enablePlaintextPort', 'svc.enableTlsPort', 'at least one'],
  },
  {
    name: 'TLS without a certificate',
    lines: ['svc.enableTlsPort=true'],
    names: ['svc.enableTlsPort', 'svc.server.https.keyStorePath'],
  },
  {
    name: 'client certificates without a trust store',
    lines: ['svc.enableTlsPort=true', 'svc.server.https.requireClientCertificate=true'],
    names: ['svc.server.https.requireClientCertificate', 'svc.server.https.trustStorePath'],
  },
  {
    name: 'an authenticator without a type',
    lines: loginWithout('svc.auth.authenticator.mine.type'),
    names: ['[mine]', 'svc.auth.authenticator.mine.type', 'basic'],
  },
  {
    name: 'an authenticator whose authorizer is unknown',
    lines: loginWithout(
      'svc.auth.authenticator.mine.authorizerName',
      'svc.auth.authenticator.mine.authorizerName=theirs',
    ),
    names: ['svc.auth.authenticator.mine.authorizerName', '[theirs]', 'yours'],
  },
  {
    name: 'an authorizer without a type',
    lines: loginWithout('svc.auth.authorizer.yours.type'),
    names: ['[yours]', 'svc.auth.authorizer.yours.type'],
  },
  {
    name: 'logins without an escalator',
    lines: loginWithout('svc.escalator.type'),
    names: ['svc.escalator.type', 'noop', 'expected [basic]'],
  },
  {
    name: 'an escalator without a password',
    lines: loginWithout('svc.escalator.internalClientPassword'),
    names: ['svc.escalator.internalClientPassword'],
  },
]

describe('an invalid configuration', () => {
  test('names an invalid value with its file, its property, and what is expected', async () => {
    // One start reports all of these problems; a property can appear only once per start.
    const remaining = [...badValues]
    while (remaining.length > 0) {
      const lines = new Map<string, [string, string]>()
      for (const [line, allowed] of [...remaining]) {
        const name = line.slice(0, line.indexOf('='))
        if (lines.has(name)) continue
        lines.set(name, [line, allowed])
        remaining.splice(
          remaining.findIndex(([other]) => other === line),
          1,
        )
      }
      const message = await refusedStart({
        role: 'historical',
        runtime: [...lines.values()].map(([line]) => line),
      })
      for (const [name, [line, allowed]] of lines) {
        const value = line.slice(line.indexOf('=') + 1)
        const problem = message
          .split('\n')
          .find((text) => text.includes(`[${name}]`) && text.includes(`[${value}]`))
        assert.ok(problem, `${line} is not reported:\n${message}`)
        assertNames(problem, [files.runtime, allowed])
      }
    }
  })

  test('names the nearest known property for an unknown one', async () => {
    const message = await refusedStart({ role: 'router', common: misspelled.map(([name]) => `${name}=1`) })
    for (const [name, nearest] of misspelled) {
      const problem = message.split('\n').find((line) => line.includes(`[${name}]`))
      assertNames(problem ?? message, [files.common, name, `[${nearest}]`])
    }
  })

  for (const { name, lines, names } of contradictions) {
    test(`reports ${name}`, async () => {
      assertNames(await refusedStart({ role: 'coordinator', common: lines }), names)
    })
  }

  test('reports all problems of both files and the environment at once, each with its source', async () => {
    const message = await refusedStart({
      role: 'coordinator',
      common: ['svc.log.level=loud', 'svc.nosuch=1'],
      runtime: ['svc.plaintextPort=x', 'svc.coordinator.period=never'],
      environment: { svc_server_priority: 'top', svc_nosuch_either: '1' },
    })
    assert.match(message, /6 problem/)
    const expected: [source: string, name: string][] = [
      [files.common, 'svc.log.level'],
      [files.common, 'svc.nosuch'],
      [files.runtime, 'svc.plaintextPort'],
      [files.runtime, 'svc.coordinator.period'],
      ['environment variable svc_server_priority', 'svc.server.priority'],
      ['environment variable svc_nosuch_either', 'svc.nosuch.either'],
    ]
    for (const [source, name] of expected) {
      assert.ok(
        message.split('\n').some((line) => line.includes(source) && line.includes(`[${name}]`)),
        `${name} of ${source} is not reported:\n${message}`,
      )
    }
  })

  test('the second file overrides the first, and the environment overrides both', async () => {
    const message = await refusedStart({
      role: 'coordinator',
      common: ['svc.log.level=wrong-in-common', 'svc.host=127.0.0.1', 'svc.tlsPort=wrong-in-common'],
      runtime: ['svc.log.level=info', 'svc.plaintextPort=wrong-in-runtime', 'other.name=not ours'],
      environment: { svc_plaintextPort: '8081', svc_host: '', OTHER: 'not ours' },
    })
    assert.match(message, /2 problem/)
    assertNames(message, ['[svc.tlsPort]', 'wrong-in-common', 'environment variable svc_host'])
    assert.ok(!message.includes('svc.log.level') && !message.includes('wrong-in-runtime'), message)
  })

  test('names unreadable files', async () => {
    const missing = path.join(folder, 'missing.properties')
    assertNames(await refusedStart({ role: 'broker', args: ['--common', missing, '--runtime', folder] }), [
      missing,
      'ENOENT',
      `${folder}: `,
      'EISDIR',
    ])
  })

  test('names an unknown command-line option', async () => {
    assertNames(await refusedStart({ role: 'broker', args: ['--port', '1'] }), ['--port'])
  })

  test('names the source of a password that it cannot fetch', async () => {
    const missing = path.join(folder, 'no-password')
    const message = await refusedStart({
      role: 'overlord',
      common: [
        `svc.metadata.storage.connector.password={"type":"file","path":"${missing}"}`,
        'svc.queue.redis.password={"type":"environment","variable":"NO_SUCH_VARIABLE"}',
        'svc.server.https.keyStorePassword={"type":"vault"}',
      ],
    })
    assertNames(message, [
      'svc.metadata.storage.connector.password',
      missing,
      'svc.queue.redis.password',
      'NO_SUCH_VARIABLE',
      'svc.server.https.keyStorePassword',
    ])
  })

  test('names an unusable key store or trust store', async () => {
    const garbage = path.join(folder, 'garbage.pem')
    writeFileSync(garbage, 'not a certificate\n')
    const stores = ['missing.pem', 'garbage.pem'].flatMap((name) =>
      ['pem', 'pkcs12', 'jks'].map((type) => ({ name, type })),
    )
    for (const { name, type } of stores) {
      const file = path.join(folder, name)
      const asServer = [
        'svc.enableTlsPort=true',
        `svc.server.https.keyStoreType=${type}`,
        `svc.server.https.keyStorePath=${file}`,
        `svc.server.https.keyStorePassword=${secret}`,
      ]
      assertNames(await refusedStart({ role: 'historical', common: asServer }), [
        'svc.server.https.keyStorePath',
        file,
      ])
      const asClient = [
        `svc.client.https.trustStoreType=${type}`,
        `svc.client.https.trustStorePath=${file}`,
        `svc.client.https.trustStorePassword=${secret}`,
      ]
      assertNames(await refusedStart({ role: 'historical', common: asClient }), [
        'svc.client.https.trustStorePath',
        file,
      ])
    }
  })

  test('names a port that another process uses', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const address = other.address()
    const port = typeof address === 'object' && address ? address.port : 0
    try {
      const message = await refusedStart({ role: 'broker', runtime: [`svc.plaintextPort=${port}`] })
      assertNames(message, ['svc.plaintextPort', `[${port}]`, 'EADDRINUSE'])
    } finally {
      other.close()
    }
  })

  test('reports stores and ports together with everything else', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const at = (name: string) => path.join(folder, name)
    writeFileSync(at('no-certificate.pem'), 'not a certificate\n')
    const stores = fileURLToPath(new URL('./fixtures/stores/', import.meta.url))
    try {
      const message = await refusedStart({
        role: 'historical',
        common: [
          'svc.log.level=loud',
          `svc.plaintextPort=${port}`,
          'svc.enableTlsPort=true',
          `svc.server.https.keyStorePath=${stores}expired.jks`,
          'svc.server.https.keyStorePassword=changeit',
          `svc.server.https.crlPath=${at('no-list.pem')}`,
          `svc.client.https.keyStorePath=${stores}rsa.jks`,
          `svc.client.https.keyStorePassword=${secret}`,
          `svc.client.https.trustStorePath=${at('no-trust.jks')}`,
          `svc.client.https.crlPath=${at('no-certificate.pem')}`,
          `svc.metadata.storage.connector.tls.caPath=${at('no-authority.pem')}`,
          `svc.queue.redis.tls.caPath=${at('no-certificate.pem')}`,
        ],
      })
      const expected: [property: string, ...texts: string[]][] = [
        ['svc.log.level', 'loud'],
        ['svc.plaintextPort', String(port), 'EADDRINUSE'],
        ['svc.server.https.keyStorePath', 'expired.jks', 'expired on [Jan'],
        ['svc.server.https.crlPath', at('no-list.pem'), 'ENOENT'],
        ['svc.client.https.keyStorePath', 'rsa.jks', 'check its password'],
        ['svc.client.https.trustStorePath', at('no-trust.jks'), 'ENOENT'],
        ['svc.client.https.crlPath', at('no-certificate.pem'), 'is not a certificate revocation list'],
        ['svc.metadata.storage.connector.tls.caPath', at('no-authority.pem'), 'ENOENT'],
        ['svc.queue.redis.tls.caPath', at('no-certificate.pem'), 'contains no certificate'],
      ]
      assert.match(message, new RegExp(`${expected.length} problem`), message)
      for (const [property, ...texts] of expected) {
        const line = message.split('\n').find((text) => text.includes(`[${property}]`))
        assertNames(line ?? message, texts)
      }
    } finally {
      other.close()
    }
  })

  test('exits within two seconds', () => {
    // The fastest of all these starts: others may have shared the processors.
    assert.ok(fastestMs < longestMs, `the fastest start took ${fastestMs} ms to exit`)
  })
})

test('keeps passwords out of logs, answers and command lines, and the environment overrides files', async () => {
  const given = { value: 'password-given-as-a-value', variable: 'password-given-by-the-environment' }
  const secrets = { login: 'password-of-a-refused-login', user: 'password-of-a-new-user' }
  // Services inherit the environment of the process that starts them.
  const environment = { svc_log_level: 'debug', svc_server_priority: '7', SVC_TEST_PASSWORD: given.variable }
  Object.assign(process.env, environment)
  const authenticator = 'svc.auth.authenticator.MyBasicMetadataAuthenticator'
  const cluster = await startTestCluster({
    profile: 'secure',
    set: [
      'svc.log.level=error',
      'historical.svc.server.priority=1',
      `svc.client.https.trustStorePassword=${given.value}`,
      `${authenticator}.initialAdminPassword={"type":"environment","variable":"SVC_TEST_PASSWORD"}`,
    ],
  }).finally(() => {
    for (const name of Object.keys(environment)) delete process.env[name]
  })
  try {
    const credentials = `admin:${given.variable}`
    const said: string[] = []
    for (const { instance } of cluster.plan.services) {
      const properties = await cluster.at(instance).send({ path: '/status/properties', credentials })
      assert.equal(properties.status, 200, properties.text)
      const shown = properties.json as Record<string, string>
      assert.equal(shown['svc.log.level'], 'debug')
      assert.equal(shown['svc.server.priority'], '7')
      assert.deepEqual(
        Object.keys(shown).filter((name) => /password$/i.test(name)),
        [],
      )
      said.push(properties.text)
      const refused = await cluster
        .at(instance)
        .send({ path: '/status', credentials: `admin:${secrets.login}` })
      assert.equal(refused.status, 401)
      said.push(refused.text)
    }
    const users = '/svc-ext/basic-security/authentication/db/MyBasicMetadataAuthenticator/users'
    for (const request of [
      { method: 'POST', path: `${users}/new` },
      { method: 'POST', path: `${users}/new/credentials`, json: { password: secrets.user } },
      { path: users },
      { path: `${users}/new?full` },
    ]) {
      const answer = await cluster.at('coordinator').send({ ...request, credentials })
      assert.equal(answer.status, 200, answer.text)
      said.push(answer.text)
    }
    for (const { instance, process: running } of cluster.processes()) {
      said.push(cluster.logOf(instance))
      if (process.platform === 'linux') said.push(readFileSync(`/proc/${running!.pid}/cmdline`, 'utf8'))
    }
    const ofHome = secretNames.flatMap((name) => readSecret(cluster.home, name) ?? [])
    assert.ok(ofHome.length >= 5)
    for (const secretText of [...ofHome, ...Object.values(given), ...Object.values(secrets)]) {
      assert.ok(secretText.length >= 12)
      const where = said.find((text) => text.includes(secretText))
      assert.equal(where, undefined, `[${secretText}] is shown: ${where?.slice(0, 2000)}`)
    }
  } finally {
    await cluster.end()
  }
})
