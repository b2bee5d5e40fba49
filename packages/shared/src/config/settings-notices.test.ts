import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConfigurationError, loadSettings, properties, settingsNotices } from './index.ts'
import { definitionOf, type PropertyDefinition } from './properties.ts'

/**
 * Returns what a server with these properties reports at startup: its warnings, or the problems that keep it from
 * starting.
 */
function notices(given: Readonly<Record<string, string>>): readonly string[] {
  const environment = Object.entries(given).map(([name, value]) => [name.replaceAll('.', '_'), value])
  try {
    return settingsNotices(loadSettings('coordinator', [], Object.fromEntries(environment)))
  } catch (error) {
    assert.ok(error instanceof ConfigurationError, String(error))
    return error.problems
  }
}

const a = 'svc.auth.authenticator.a'
const z = 'svc.auth.authorizer.z'
const validator = `${a}.credentialsValidator`
const [serverTls, clientTls] = ['svc.server.https', 'svc.client.https']

const login = {
  'svc.auth.authenticatorChain': '["a"]',
  [`${a}.type`]: 'basic',
  [`${a}.authorizerName`]: 'z',
  'svc.auth.authorizers': '["z"]',
  [`${z}.type`]: 'basic',
  'svc.escalator.type': 'basic',
  'svc.escalator.internalClientPassword': 'secret',
}
const directory = {
  ...login,
  [`${validator}.type`]: 'ldap',
  [`${validator}.url`]: 'ldaps://127.0.0.1:636',
  [`${validator}.baseDn`]: 'dc=example',
  'svc.auth.basic.ssl.trustStorePath': '/t',
}
const tls = {
  'svc.enableTlsPort': 'true',
  [`${serverTls}.keyStorePath`]: '/k',
}

/** Configurations in which every property applies; each property with conditions is in one of them. */
const inUse: readonly Readonly<Record<string, string>>[] = [
  {
    ...login,
    [`${a}.initialAdminPassword`]: 'password',
    [`${a}.initialInternalClientPassword`]: 'secret',
    [`${a}.skipOnFailure`]: 'false',
    [`${a}.enableCacheNotifications`]: 'true',
    [`${validator}.type`]: 'metadata',
    [`${z}.initialAdminUser`]: 'root',
    [`${z}.initialAdminRole`]: 'all',
    [`${z}.compatibility`]: 'true',
    [`${z}.roleProvider.type`]: 'metadata',
    'svc.auth.credentials.minLength': '9',
    'svc.auth.throttle.failures': '3',
    'svc.auth.throttle.period': 'PT1M',
    'svc.auth.throttle.delay': 'PT1S',
    'svc.auth.internalClientAllowedNetworks': '["127.0.0.1"]',
    'svc.auth.unsecuredPaths': '["/status"]',
    'svc.auth.allowUnauthenticatedHttpOptions': 'true',
    'svc.escalator.internalClientUsername': 'servers',
    'svc.escalator.authorizerName': 'z',
  },
  {
    ...directory,
    [`${validator}.bindUser`]: 'cn=search',
    [`${validator}.bindPassword`]: 'secret',
    [`${validator}.userSearch`]: '(cn=%s)',
    [`${validator}.userAttribute`]: 'cn',
    [`${validator}.groupBaseDn`]: 'ou=groups',
    [`${validator}.groupSearch`]: '(member=%s)',
    [`${validator}.connectTimeout`]: 'PT1S',
    [`${validator}.readTimeout`]: 'PT1S',
    [`${validator}.credentialVerifyDuration`]: '1',
    [`${validator}.credentialMaxDuration`]: '2',
    [`${validator}.credentialCacheSize`]: '3',
    [`${z}.roleProvider.type`]: 'ldap',
    [`${z}.roleProvider.groupFilters`]: '["*"]',
    [`${z}.initialAdminGroupMapping`]: 'cn=admins',
    'svc.auth.basic.ssl.protocol': 'TLSv1.3',
    'svc.auth.basic.ssl.trustStoreType': 'jks',
    'svc.auth.basic.ssl.trustStorePassword': 'secret',
    'svc.auth.basic.ssl.validateHostnames': 'true',
  },
  {
    ...tls,
    'svc.tlsPort': '1',
    'svc.plaintextPort': '2',
    [`${serverTls}.keyStoreType`]: 'pkcs12',
    [`${serverTls}.keyStorePassword`]: 'secret',
    [`${serverTls}.keyManagerPassword`]: 'secret',
    [`${serverTls}.certAlias`]: 'one',
    [`${serverTls}.requireClientCertificate`]: 'true',
    [`${serverTls}.requestClientCertificate`]: 'true',
    [`${serverTls}.validateHostnames`]: 'true',
    [`${serverTls}.trustStoreType`]: 'jks',
    [`${serverTls}.trustStorePath`]: '/t',
    [`${serverTls}.trustStorePassword`]: 'secret',
    [`${serverTls}.crlPath`]: '/r',
    [`${serverTls}.reloadSslContext`]: 'true',
    [`${serverTls}.reloadSslContextSeconds`]: '2',
    [`${clientTls}.trustStoreType`]: 'jks',
    [`${clientTls}.trustStorePath`]: '/t',
    [`${clientTls}.trustStorePassword`]: 'secret',
    [`${clientTls}.keyStoreType`]: 'jks',
    [`${clientTls}.keyStorePath`]: '/k',
    [`${clientTls}.keyStorePassword`]: 'secret',
    [`${clientTls}.keyManagerPassword`]: 'secret',
    [`${clientTls}.certAlias`]: 'one',
    'svc.metadata.storage.connector.tls.mode': 'verify-full',
    'svc.metadata.storage.connector.tls.caPath': '/a',
    'svc.queue.redis.tls.enabled': 'true',
    'svc.queue.redis.tls.caPath': '/a',
    'svc.queue.redis.tls.validateHostnames': 'true',
  },
  {
    'svc.coordinator.kill.on': 'true',
    'svc.coordinator.kill.period': 'P1D',
    'svc.coordinator.kill.durationToRetain': 'P1D',
    'svc.coordinator.kill.ignoreDurationToRetain': 'false',
    'svc.coordinator.kill.bufferPeriod': 'P1D',
    'svc.coordinator.kill.maxSegments': '1',
    'svc.coordinator.kill.audit.on': 'true',
    'svc.coordinator.kill.audit.period': 'P1D',
    'svc.coordinator.kill.audit.durationToRetain': 'P1D',
    'svc.indexer.logs.kill.enabled': 'true',
    'svc.indexer.logs.kill.delay': 'P1D',
    'svc.indexer.logs.kill.durationToRetain': 'P1D',
    'svc.indexer.tasks.kill.enabled': 'true',
    'svc.indexer.tasks.kill.delay': 'P1D',
    'svc.indexer.tasks.kill.durationToRetain': 'P1D',
    'svc.simulation.enabled': 'true',
    'svc.simulation.virtualServers': '[{"count":1,"size":"1g"}]',
    'svc.simulation.placementFile': '/p',
    'svc.simulation.compactionDuration': 'PT1S',
  },
  {
    'svc.storage.type': 's3',
    'svc.storage.bucket': 'segments',
    'svc.storage.baseKey': 'svc',
    'svc.indexer.logs.type': 's3',
    'svc.indexer.logs.s3Bucket': 'logs',
    'svc.indexer.logs.s3Prefix': 'svc',
    'svc.s3.accessKey': 'key',
    'svc.s3.secretKey': 'secret',
    'svc.s3.endpoint.url': 'https://s3.example.com',
    'svc.s3.endpoint.signingRegion': 'eu-central-1',
    'svc.s3.enablePathStyleAccess': 'true',
    'svc.s3.tls.caPath': '/a',
    'svc.s3.retryTimeout': 'PT1S',
  },
]

const table = Object.entries<PropertyDefinition<unknown>>(properties)

describe('the conditions of properties', () => {
  // Security properties and properties with a switch that always apply.
  const always = new Set([
    'svc.auth.authenticatorChain',
    'svc.extensions.loadList',
    'svc.escalator.type',
    'svc.metadata.storage.connector.tls.mode',
    'svc.queue.redis.tls.enabled',
    'svc.client.https.protocol',
    'svc.client.https.validateHostnames',
    'svc.client.https.trustStorePath',
    'svc.client.https.keyStorePath',
    'svc.client.https.crlPath',
    'svc.coordinator.kill.audit.on',
    'svc.simulation.clock.enabled',
  ])
  const switches = table
    .map(([name]) => /^(.+\.)(?:on|enabled)$/.exec(name)?.[1])
    .filter((prefix) => prefix !== undefined)
  const isSwitched = (name: string) =>
    switches.some((prefix) => name.startsWith(prefix) && !/^(on|enabled)$/.test(name.slice(prefix.length)))
  const isOfSecurity = (name: string) => /^svc\.(auth|escalator|extensions)\.|\.(https|tls)\./.test(name)

  it('exist for every security property and every property with a switch', () => {
    const silent = table
      .filter(([name, { conditions }]) => conditions.length === 0 && (isOfSecurity(name) || isSwitched(name)))
      .map(([name]) => name)
    assert.deepEqual(silent.sort(), [...always].sort())
  })

  for (const [index, given] of inUse.entries()) {
    it(`are met if everything is in use (${index + 1})`, () => void assert.deepEqual(notices(given), []))
  }

  for (const [property] of table.filter(([, { conditions }]) => conditions.length > 0)) {
    it(`of ${property} are reported if they are not met`, () => {
      const uses = (given: Readonly<Record<string, string>>) =>
        Object.keys(given).find((name) => definitionOf(name)?.definition === properties[property as never])
      const given = inUse.find(uses)
      assert.ok(given, 'it applies in none of the configurations above')
      const name = uses(given) as string
      const open = { 'svc.auth.authenticatorChain': '["allowAll"]', 'svc.enablePlaintextPort': 'false' }
      // Everything else has its default, under which the plaintext port would still apply.
      const alone = {
        [name]: given[name] as string,
        ...(property === 'svc.plaintextPort' ? { ...open, ...tls } : {}),
      }
      assert.ok(
        notices(alone).some((line) => line.includes(`[${name}]`)),
        `nothing was reported for ${JSON.stringify(alone)}: ${notices(alone)}`,
      )
    })
  }
})

describe('warnings at startup', () => {
  const cases: readonly [
    name: string,
    given: Readonly<Record<string, string>>,
    expected: readonly RegExp[],
  ][] = [
    ['none without any property', {}, []],
    [
      'for a key store without a TLS port',
      { [`${serverTls}.keyStorePath`]: '/nowhere' },
      [
        /^\[svc.server.https.keyStorePath\] is set, but has no effect: it applies only if \[svc.enableTlsPort\] is \[true\]$/,
      ],
    ],
    [
      'for a client trust store if no certificates are requested',
      { ...tls, [`${serverTls}.trustStorePath`]: '/t' },
      [
        /trustStorePath\].* only if \[svc.server.https.requireClientCertificate\] is \[true\] or \[svc.server.https.requestClientCertificate\] is \[true\]$/,
      ],
    ],
    [
      'for the password of a PEM trust store',
      {
        [`${clientTls}.trustStorePath`]: '/t',
        [`${clientTls}.trustStoreType`]: 'pem',
        [`${clientTls}.trustStorePassword`]: 'x',
      },
      [/trustStorePassword\].* only if \[svc.client.https.trustStoreType\] is \[jks\] or \[pkcs12\]$/],
    ],
    [
      'for the reload period if stores are not reloaded',
      { ...tls, [`${serverTls}.reloadSslContext`]: 'false', [`${serverTls}.reloadSslContextSeconds`]: '5' },
      [/reloadSslContextSeconds\].* only if \[svc.server.https.reloadSslContext\] is \[true\]$/],
    ],
    [
      'for an authorizer that no authenticator uses',
      {
        ...login,
        'svc.auth.authorizers': '["z","y"]',
        'svc.auth.authorizer.y.type': 'basic',
        'svc.auth.authorizer.y.initialAdminRole': 'r',
      },
      [
        /authorizer\.y\.type\].* only if the \[authorizerName\] of an authenticator in \[svc.auth.authenticatorChain\] is \[y\]$/,
        /authorizer\.y\.initialAdminRole\].* only if the \[authorizerName\] of an authenticator in .* is \[y\]$/,
      ],
    ],
    [
      'for an authenticator and an authorizer that allow everything',
      {
        'svc.auth.authenticatorChain': '["a"]',
        [`${a}.type`]: 'allowAll',
        [`${a}.authorizerName`]: 'z',
        [`${a}.initialAdminPassword`]: 'password',
        [`${a}.skipOnFailure`]: 'true',
        'svc.auth.authorizers': '["z"]',
        [`${z}.type`]: 'allowAll',
        [`${z}.compatibility`]: 'true',
        [`${z}.initialAdminRole`]: 'r',
      },
      [
        /initialAdminPassword\].* only if \[svc.auth.authenticator.a.type\] is \[basic\]$/,
        /skipOnFailure\].* only if \[svc.auth.authenticator.a.type\] is \[basic\]$/,
        /compatibility\].* only if \[svc.auth.authorizer.z.type\] is \[basic\]$/,
        /initialAdminRole\].* only if \[svc.auth.authorizer.z.type\] is \[basic\]$/,
      ],
    ],
    [
      'for the throttle period if failures are not counted',
      { ...login, 'svc.auth.throttle.failures': '0', 'svc.auth.throttle.period': 'PT1M' },
      [/throttle.period\].* only if \[svc.auth.throttle.failures\] is greater than \[0\]$/],
    ],
    [
      'for a group search without a base DN, and for a bind password without a user',
      { ...directory, [`${validator}.groupSearch`]: '(member=%s)', [`${validator}.bindPassword`]: 'secret' },
      [
        /groupSearch\].* only if \[svc.auth.authenticator.a.credentialsValidator.groupBaseDn\] is set$/,
        /bindPassword\].* only if \[svc.auth.authenticator.a.credentialsValidator.bindUser\] is set$/,
      ],
    ],
    [
      'for group mappings without a directory',
      { ...login, [`${z}.roleProvider.type`]: 'ldap' },
      [/roleProvider.type\].* only if an authenticator with this authorizer uses a directory$/],
    ],
    [
      'for a chain whose later authenticators are never used',
      {
        ...login,
        'svc.auth.authenticatorChain': '["a","b"]',
        'svc.auth.authenticator.b.type': 'basic',
        'svc.auth.authenticator.b.authorizerName': 'z',
      },
      [/are never used for logins: \[b\]/],
    ],
    [
      'for networks that do not contain this server',
      { ...login, 'svc.auth.internalClientAllowedNetworks': '["10.0.0.0/8","fd00::/8"]' },
      [/^\[svc.auth.internalClientAllowedNetworks\] does not contain \[127.0.0.1\] from \[svc.host\]/],
    ],
    [
      'none for networks that contain this server',
      { ...login, 'svc.host': '10.1.2.3', 'svc.auth.internalClientAllowedNetworks': '["10.0.0.0/8"]' },
      [],
    ],
    [
      'for extensions that are unknown, missing, or unused',
      { ...login, 'svc.extensions.loadList': '["simple-client-sslcontext","other"]' },
      [
        /contains the unknown extension \[other\]/,
        /does not contain \[svc-basic-security\]/,
        /contains \[simple-client-sslcontext\], but/,
      ],
    ],
  ]
  for (const [name, given, expected] of cases) {
    it(name, () => {
      const lines = notices(given)
      assert.equal(lines.length, expected.length, lines.join('\n'))
      expected.forEach((pattern, index) => void assert.match(lines[index] ?? '', pattern))
    })
  }
})
