import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it, test } from 'node:test'
import { ConfigurationError, loadSettings } from '@svc/shared/config'
import type { LdapProbeResult } from '@svc/shared/security'
import { testConfigurations } from '../testing/index.ts'
import { allChecks } from './checks/index.ts'
import type { Configuration, Property, Server } from './configuration.ts'
import type { Facts } from './facts.ts'
import { type Finding, findProblems } from './findings.ts'
import { readLocationMap } from './location-map.ts'
import { resolveValue } from './resolve-value.ts'
import type { ServedTls } from './served-tls.ts'
import type { StoreContent } from './stores.ts'
import { svcSettings } from './svc-settings.ts'
import { neverReady, upEffectOf } from './up-effects.ts'

const now = Date.parse('2026-11-01T00:00:00Z')

/** A configuration in which nothing is wrong. */
const fine: Readonly<Record<string, string>> = {
  'druid.extensions.loadList': '["druid-basic-security","simple-client-sslcontext"]',
  'druid.enablePlaintextPort': 'false',
  'druid.enableTlsPort': 'true',
  'druid.server.https.keyStoreType': 'jks',
  'druid.server.https.keyStorePath': 'server.jks',
  'druid.server.https.keyStorePassword': 'key-store-9',
  'druid.client.https.trustStorePath': 'trust.jks',
  'druid.client.https.trustStorePassword': 'trust-store-9',
  'druid.auth.authenticatorChain': '["stored","ldap"]',
  'druid.auth.authenticator.stored.type': 'basic',
  'druid.auth.authenticator.stored.initialAdminPassword': 'admin-9',
  'druid.auth.authenticator.stored.initialInternalClientPassword': 'internal-9',
  'druid.auth.authenticator.stored.skipOnFailure': 'true',
  'druid.auth.authenticator.stored.authorizerName': 'roles',
  'druid.auth.authenticator.ldap.type': 'basic',
  'druid.auth.authenticator.ldap.credentialsValidator.type': 'ldap',
  'druid.auth.authenticator.ldap.credentialsValidator.url': 'ldap://127.0.0.1:389',
  'druid.auth.authenticator.ldap.credentialsValidator.bindUser': 'cn=search,dc=example,dc=com',
  'druid.auth.authenticator.ldap.credentialsValidator.bindPassword': 'bind-9',
  'druid.auth.authenticator.ldap.credentialsValidator.baseDn': 'dc=example,dc=com',
  'druid.auth.authenticator.ldap.credentialsValidator.userSearch': '(uid=%s)',
  'druid.auth.authenticator.ldap.authorizerName': 'roles',
  'druid.escalator.type': 'basic',
  'druid.escalator.internalClientUsername': 'druid_system',
  'druid.escalator.internalClientPassword': 'internal-9',
  'druid.escalator.authorizerName': 'roles',
  'druid.auth.authorizers': '["roles"]',
  'druid.auth.authorizer.roles.type': 'basic',
  'druid.auth.authorizer.roles.roleProvider.type': 'ldap',
}

type Change = Readonly<Record<string, string | undefined>>

/** A change of that configuration or of its surroundings. */
interface Case {
  readonly code: string
  readonly change?: Change
  /** A change at the second server only. */
  readonly second?: Change
  readonly directory?: LdapProbeResult
  readonly served?: ServedTls
  readonly stores?: Readonly<Record<string, StoreContent>>
}

const ldap = 'druid.auth.authenticator.ldap.credentialsValidator'
const noDirectory: Change = {
  'druid.auth.authenticatorChain': '["stored"]',
  'druid.auth.authenticator.ldap.type': undefined,
}
const noStored: Change = {
  'druid.auth.authenticatorChain': '["ldap"]',
  'druid.auth.authenticator.stored.type': undefined,
  'druid.auth.authorizer.roles.initialAdminUser': 'alice',
}
const emptyStore: StoreContent = { kind: 'open', keys: [], trusted: [] }
const storeWithKey: StoreContent = {
  kind: 'open',
  keys: [{ alias: 'druid', matches: true, chain: [] }],
  trusted: [],
}

const cases: readonly Case[] = [
  { code: 'login-not-required', change: { 'druid.auth.authenticatorChain': undefined } },
  {
    code: 'list-empty',
    change: { 'druid.auth.authenticatorChain': '[]', 'druid.escalator.type': undefined },
  },
  { code: 'name-repeated', change: { 'druid.auth.authenticatorChain': '["stored","stored","ldap"]' } },
  { code: 'name-repeated', change: { 'druid.auth.authorizers': '["roles","roles"]' } },
  {
    code: 'anonymous-allowed',
    change: {
      'druid.auth.authenticatorChain': '["stored","ldap","allowAll"]',
      'druid.auth.authenticator.ldap.skipOnFailure': 'true',
    },
  },
  {
    code: 'initial-password-missing',
    change: { ...noDirectory, 'druid.auth.authenticator.stored.initialAdminPassword': undefined },
  },
  { code: 'authorizers-not-set', change: { 'druid.auth.authorizers': undefined } },
  { code: 'authorizer-undefined', change: { 'druid.auth.authorizers': '["roles","role"]' } },
  { code: 'everything-allowed', change: { 'druid.auth.authorizer.roles.type': 'allowAll' } },
  {
    code: 'directory-groups-ignored',
    change: { 'druid.auth.authorizer.roles.roleProvider.type': undefined },
  },
  {
    code: 'administrator-missing',
    change: { ...noStored, 'druid.auth.authorizer.roles.initialAdminUser': undefined },
    directory: { kind: 'searched', findsAnyone: true, found: ['druid_system'] },
  },
  { code: 'escalator-incomplete', change: { 'druid.escalator.internalClientUsername': undefined } },
  { code: 'escalator-password-wrong', change: { 'druid.escalator.internalClientPassword': 'another-9' } },
  {
    code: 'internal-user-not-created',
    change: { ...noDirectory, 'druid.escalator.internalClientUsername': 'servers' },
  },
  {
    code: 'internal-user-not-created',
    change: {
      ...noDirectory,
      'druid.auth.authenticator.stored.initialInternalClientPassword': undefined,
    },
  },
  {
    code: 'internal-user-not-created',
    change: { 'druid.escalator.internalClientUsername': 'servers' },
    directory: { kind: 'searched', findsAnyone: true, found: [] },
  },
  { code: 'internal-user-not-checked', change: { 'druid.escalator.internalClientUsername': 'servers' } },
  { code: 'escalator-authorizer-unknown', change: { 'druid.escalator.authorizerName': 'rules' } },
  {
    code: 'logins-differ',
    second: {
      'druid.auth.authenticatorChain': '["ldap","stored"]',
      'druid.auth.authenticator.ldap.skipOnFailure': 'true',
    },
  },
  { code: 'password-empty', change: { 'druid.auth.authenticator.stored.initialAdminPassword': '' } },
  { code: 'password-blank', change: { 'druid.auth.authenticator.stored.initialAdminPassword': 'admin-9 ' } },
  {
    code: 'value-malformed',
    change: {
      'druid.auth.authenticator.stored.initialAdminPassword': '{"type":"environment","name":"ADMIN"}',
    },
  },
  {
    code: 'value-unknown',
    change: { 'druid.auth.authenticator.stored.initialAdminPassword': `\${env:ADMIN_PASSWORD}` },
  },
  {
    code: 'password-provider-unknown',
    change: {
      'druid.auth.authenticator.stored.initialAdminPassword': '{"type":"env","variable":"ADMIN"}',
    },
  },
  {
    code: 'value-unknown',
    change: {
      'druid.extensions.loadList': '["druid-basic-security","simple-client-sslcontext","acme-vault"]',
      'druid.auth.authenticator.stored.initialAdminPassword': '{"type":"vault","path":"druid/admin"}',
    },
  },
  {
    code: 'value-unknown',
    change: { 'druid.auth.authenticatorChain': `\${env:CHAIN}`, 'druid.escalator.type': undefined },
  },
  { code: 'directory-not-used', change: { [`${ldap}.type`]: undefined } },
  { code: 'directory-not-used', change: { [`${ldap}.type`]: 'lpad' } },
  { code: 'directory-properties-unused', change: { [`${ldap}.type`]: 'metadata' } },
  {
    code: 'type-ignored',
    change: { 'druid.auth.authenticator.stored.credentialsValidator.type': 'metdata' },
  },
  { code: 'directory-url-invalid', change: { [`${ldap}.url`]: 'ldap.example.com:389' } },
  { code: 'directory-url-invalid', change: { [`${ldap}.url`]: undefined } },
  { code: 'directory-plaintext', change: { [`${ldap}.url`]: 'ldap://ldap.example.com' } },
  { code: 'directory-port-swapped', change: { [`${ldap}.url`]: 'ldap://127.0.0.1:636' } },
  { code: 'directory-base-invalid', change: { [`${ldap}.baseDn`]: 'example.com' } },
  { code: 'directory-filter-invalid', change: { [`${ldap}.userSearch`]: '(uid=alice)' } },
  ...['(|(uid=%s)(mail=%s))', '(&(uid=%s)(dept=50%))', '(&(uid=%s)(cn=%2$s))', '(&(uid=%s)(cn=%1$d))'].map(
    (filter) => ({ code: 'directory-filter-invalid', change: { [`${ldap}.userSearch`]: filter } }),
  ),
  { code: 'directory-filter-missing', change: { [`${ldap}.userSearch`]: undefined } },
  {
    code: 'directory-bind-swapped',
    change: { [`${ldap}.bindUser`]: 'bind-9', [`${ldap}.bindPassword`]: 'cn=search,dc=example,dc=com' },
  },
  { code: 'directory-password-missing', change: { [`${ldap}.bindPassword`]: undefined } },
  {
    code: 'directory-host-validated',
    change: {
      [`${ldap}.url`]: 'ldaps://ldap.example.com',
      'druid.auth.basic.ssl.trustStorePath': 'ldap.jks',
      'druid.auth.basic.ssl.validateHostnames': 'false',
    },
  },
  { code: 'directory-unreachable', directory: { kind: 'unreachable', error: 'ECONNREFUSED' } },
  { code: 'directory-untrusted', directory: { kind: 'untrusted', error: 'DEPTH_ZERO_SELF_SIGNED_CERT' } },
  { code: 'directory-base-unknown', directory: { kind: 'baseMissing' } },
  { code: 'directory-search-refused', directory: { kind: 'searchRefused', error: 'result code 50' } },
  {
    code: 'directory-lacks-internal-user',
    change: noStored,
    directory: { kind: 'searched', findsAnyone: true, found: [] },
  },
  { code: 'ports-closed', change: { 'druid.enableTlsPort': 'false' } },
  { code: 'key-store-missing', change: { 'druid.server.https.keyStorePath': undefined } },
  { code: 'client-trust-missing', change: { 'druid.client.https.trustStorePath': undefined } },
  {
    code: 'client-extension-not-loaded',
    change: { 'druid.extensions.loadList': '["druid-basic-security"]' },
  },
  {
    code: 'client-certificates-unverifiable',
    change: {
      'druid.server.https.requireClientCertificate': 'true',
      'druid.client.https.keyStorePath': 'client.jks',
      'druid.client.https.keyStorePassword': 'client-9',
      'druid.client.https.keyManagerPassword': 'client-9',
    },
  },
  {
    code: 'client-key-missing',
    change: {
      'druid.server.https.requireClientCertificate': 'true',
      'druid.server.https.trustStorePath': 'trust.jks',
    },
  },
  { code: 'server-refused', served: { kind: 'failed', error: 'ECONNRESET' } },
  { code: 'store-not-a-file', stores: { 'server.jks': { kind: 'notAFile', is: 'a folder' } } },
  { code: 'store-missing', stores: { 'server.jks': { kind: 'missing', file: '/server.jks' } } },
  { code: 'store-format-unknown', stores: { 'trust.jks': { kind: 'closed', reason: 'format' } } },
  { code: 'store-password-missing', change: { 'druid.server.https.keyStorePassword': undefined } },
  { code: 'store-type-missing', change: { 'druid.server.https.keyStoreType': undefined } },
  { code: 'key-missing', stores: { 'server.jks': emptyStore } },
  {
    code: 'alias-unknown',
    change: { 'druid.server.https.certAlias': 'server' },
    stores: { 'server.jks': storeWithKey },
  },
  {
    code: 'key-mismatch',
    stores: {
      'server.jks': { kind: 'open', keys: [{ alias: 'druid', matches: false, chain: [] }], trusted: [] },
    },
  },
  { code: 'trust-store-empty', stores: { 'trust.jks': emptyStore } },
  {
    code: 'java-trust-store-missing',
    change: { 'javax.net.ssl.trustStore': 'java.jks' },
    stores: { 'java.jks': { kind: 'missing', file: '/java.jks' } },
  },
  {
    code: 'java-trust-store-not-a-file',
    change: { 'javax.net.ssl.trustStore': 'java.jks' },
    stores: { 'java.jks': { kind: 'notAFile', is: 'a named pipe' } },
  },
  ...(['format', 'password'] as const).map((reason) => ({
    code: 'java-trust-store-closed',
    change: { 'javax.net.ssl.trustStore': 'java.p12', 'javax.net.ssl.trustStorePassword': 'java-9' },
    stores: { 'java.p12': { kind: 'closed', reason } as const },
  })),
  {
    code: 'java-trust-store-empty',
    change: { 'javax.net.ssl.trustStore': 'java.jks' },
    stores: { 'java.jks': emptyStore },
  },
  { code: 'tls-value-invalid', change: { 'druid.server.https.keyStoreType': 'jsk' } },
  { code: 'tls-value-invalid', change: { 'druid.client.https.trustStoreType': 'jsk' } },
  { code: 'tls-value-invalid', change: { 'druid.client.https.protocol': 'TLSv1.4' } },
  { code: 'tls-value-invalid', change: { 'druid.server.https.includeProtocols': 'TLSv1.3' } },
  {
    code: 'directory-tls-invalid',
    change: {
      [`${ldap}.url`]: 'ldaps://ldap.example.com',
      'druid.auth.basic.ssl.trustStorePath': 'ldap.jks',
      'druid.auth.basic.ssl.protocol': 'TLS1.2',
    },
  },
  { code: 'tls-names-unknown', change: { 'druid.server.https.includeProtocols': '["TLS1.3"]' } },
  {
    code: 'tls-names-unknown',
    change: { 'druid.server.https.includeCipherSuites': '["ECDHE-RSA-AES128-GCM-SHA256"]' },
  },
  {
    code: 'tls-name-ignored',
    change: { 'druid.server.https.includeProtocols': '["TLSv1.3","TLSv1.4"]' },
  },
  {
    code: 'tls-name-ignored',
    change: { 'druid.server.https.excludeCipherSuites': '["TLS_RSA_WITH_AES_128_GCM_SHA"]' },
  },
  { code: 'host-not-validated', change: { 'druid.client.https.validateHostnames': 'false' } },
  { code: 'path-pattern-ineffective', change: { 'druid.auth.unsecuredPaths': '["/status*"]' } },
  {
    code: 'tls-off',
    change: { 'druid.enableTlsPort': 'false', 'druid.enablePlaintextPort': 'true' },
  },
  { code: 'properties-shown', change: { 'druid.server.hiddenProperties': '["druid.s3.secretKey"]' } },
  { code: 'javascript-enabled', change: { 'druid.javascript.enabled': 'true' } },
  { code: 'options-open', change: { 'druid.auth.allowUnauthenticatedHttpOptions': 'true' } },
  { code: 'value-invalid', change: { 'druid.auth.authenticatorChain': 'stored' } },
  { code: 'value-invalid', change: { 'druid.auth.authenticator.ldap.skipOnFailure': 'ture' } },
  { code: 'value-invalid', change: { 'druid.server.https.reloadSslContextSeconds': 'PT60S' } },
  { code: 'value-invalid', change: { 'druid.escalator.type': 'Basic' } },
  { code: 'value-invalid', change: { 'druid.auth.authenticator.stored.credentialIterations': 'abc' } },
  { code: 'value-invalid', change: { 'druid.auth.authenticator.stored.credentialIterations': '1.5' } },
  { code: 'value-invalid', change: { [`${ldap}.credentialIterations`]: '10k' } },
  { code: 'value-spaces', change: { 'druid.auth.authorizer.roles.initialAdminRole': 'admin\t' } },
  {
    code: 'key-password-missing',
    stores: { 'server.jks': { kind: 'closed', reason: 'keyPassword' } },
  },
  {
    code: 'key-password-wrong',
    change: { 'druid.server.https.keyManagerPassword': 'key-9' },
    stores: { 'server.jks': { kind: 'closed', reason: 'keyPassword' } },
  },
  {
    code: 'administrator-group-filtered',
    change: {
      'druid.auth.authorizer.roles.initialAdminGroupMapping': 'cn=admins,ou=groups,dc=example,dc=com',
      'druid.auth.authorizer.roles.roleProvider.groupFilters': '["*,ou=teams,dc=example,dc=com"]',
    },
  },
  { code: 'byte-order-mark', change: { '\uFEFFdruid.extensions.directory': 'extensions' } },
  { code: 'file-not-utf8', change: { 'd\0r\0u\0i\0d\0': 'x' } },
  {
    code: 'file-not-utf8',
    change: { 'druid.auth.authenticator.stored.initialAdminPassword': 'p\uFFFDss-9' },
  },
  { code: 'include-ignored', change: { include: 'other.properties' } },
  { code: 'property-misspelled', change: { 'druid.auth.authenticator.stored.skipOnFailures': 'true' } },
]

const serverOf = (name: string, changes: Change): Server => {
  const written = { ...fine, ...changes }
  const sources = { environment: {}, systemProperties: {}, fileOf: (file: string) => file }
  const properties = Object.entries(written).flatMap(([property, value], index): [string, Property][] =>
    value === undefined
      ? []
      : [
          [
            property,
            { name: property, file: 'common', line: index + 1, ...resolveValue(property, value, sources) },
          ],
        ],
  )
  return { name, file: `${name}/runtime.properties`, properties: new Map(properties) }
}

const configurationOf = ({ change = {}, second = {} }: Omit<Case, 'code'>): Configuration => ({
  commonFile: 'common',
  servers: [
    serverOf('broker', change),
    serverOf('historical', { ...change, ...second }),
    serverOf('router', change),
  ],
  repetitions: [],
  continuations: [],
  invalidEscapes: [],
})

function findingsOf(one: Omit<Case, 'code'>): Finding[] {
  const { directory, served, stores = {} } = one
  const configuration = configurationOf(one)
  const facts: Facts = {
    storeOf: ({ path }) => stores[path],
    filterProblem: () => undefined,
    directoryOf: () => directory,
    tlsOf: () => served,
  }
  return findProblems(allChecks, { configuration, facts, now })
}

const scratch = mkdtempSync(path.join(tmpdir(), 'svc-doctor-checks-'))
after(() => rmSync(scratch, { recursive: true }))

/** Returns why servers of `./svc up --config` refuse the properties of a case; they check stores elsewhere. */
function refusedSettings(one: Omit<Case, 'code'>, findings: readonly Finding[]): string[] {
  const configuration = configurationOf(one)
  const { set } = svcSettings({ configuration, findings, locations: readLocationMap([], '.') })
  return (['coordinator', 'historical'] as const).flatMap((role) => {
    const file = path.join(scratch, `${role}.properties`)
    const own = set
      .filter((setting) => setting.startsWith('svc.') || setting.startsWith(`${role}.`))
      .map((setting) => setting.replace(new RegExp(`^${role}\\.`), ''))
    // The cluster adds its own key store and the location of its metadata store.
    const added = ['svc.server.https.keyStorePath=own.p12', 'svc.server.https.trustStorePath=own.p12']
    writeFileSync(file, [...added, ...own].join('\n'))
    try {
      loadSettings(role, [file], {})
      return []
    } catch (error) {
      assert(error instanceof ConfigurationError)
      return error.problems
    }
  })
}

/** More cases of codes for which the value decides what `./svc up --config` does. */
const otherCases: readonly Case[] = [
  { code: 'list-empty', change: { 'druid.auth.authorizers': '[]' } },
  ...['anonymous', 'allowAll'].map((type) => ({
    code: 'anonymous-allowed',
    change: {
      'druid.auth.authenticatorChain': '["stored","open"]',
      'druid.auth.authenticator.open.type': type,
      'druid.auth.authenticator.open.authorizerName': type === 'allowAll' ? 'roles' : undefined,
    },
  })),
  ...[
    '*',
    '*ou=groups,dc=example,dc=com',
    'cn=o*,ou=groups,dc=example,dc=com',
    '*,ou=groups,*',
    'analysts',
  ].map((pattern) => ({
    code: 'group-pattern-invalid',
    change: { 'druid.auth.authorizer.roles.roleProvider.groupFilters': JSON.stringify([pattern]) },
  })),
  ...['Username', 'Password'].map((end) => ({
    code: 'escalator-incomplete',
    change: { [`druid.escalator.internalClient${end}`]: undefined },
  })),
  { code: 'escalator-incomplete', change: { 'druid.escalator.authorizerName': undefined } },
  { code: 'escalator-missing', change: { 'druid.escalator.type': undefined } },
  { code: 'escalator-differs', second: { 'druid.escalator.type': 'noop' } },
  { code: 'escalator-differs', second: { 'druid.escalator.internalClientPassword': 'another-9' } },
  { code: 'directory-base-invalid', change: { [`${ldap}.baseDn`]: undefined } },
  { code: 'directory-trust-missing', change: { [`${ldap}.url`]: 'ldaps://ldap.example.com' } },
  ...['ldap', 'metadata'].map((type) => ({
    code: 'value-invalid',
    change: { 'druid.auth.authenticator.stored.type': type },
  })),
  { code: 'extension-not-loaded', change: { 'druid.auth.authenticator.stored.type': 'kerberos' } },
  { code: 'authorizer-unknown', change: { 'druid.auth.authenticator.stored.authorizerName': 'rules' } },
]

describe('what the findings say about ./svc up --config', () => {
  // The settings do not show these: servers check stores when they open them, and unknown values are left out.
  const otherwise = /^(store-|stores-|key-|alias-|trust-store-|certificate-)|^value-unknown$/
  for (const [index, one] of [...cases, ...otherCases].entries())
    it(`agrees with the settings that servers accept for [${one.code}], case ${index + 1}`, () => {
      const findings = findingsOf(one).filter(({ code }) => code === one.code)
      assert(findings.length > 0)
      const refusing = findings.filter(({ up }) => !up.starts)
      const refused = refusedSettings(one, findings)
      if (otherwise.test(one.code)) return
      // Only what prevents Druid from starting is refused without a problem of svc's own.
      if (refusing.every(({ prevents }) => prevents === undefined))
        assert.equal(refusing.length > 0, refused.length > 0, refused.join(', '))
      else assert(refusing.length > 0)
    })

  it('is a refusal for everything that prevents Druid from starting', () => {
    const findings = [...cases, ...otherCases].flatMap(findingsOf)
    const preventing = findings.filter(({ prevents }) => prevents === 'start')
    assert(preventing.length >= 7)
    assert(preventing.every(({ up, effect }) => !up.starts && /not start/.test(effect)))
    for (const { effect, prevents } of findings)
      if (/^The servers? (will|does) not start[.:]/.test(effect)) assert.equal(prevents, 'start', effect)
  })

  it('exists for every check', () => {
    for (const { code } of allChecks) assert.doesNotThrow(() => upEffectOf(code))
  })
})

/** Tested with files, in examine.test.ts. */
const testedWithFiles = [
  'certificate-not-yet-valid',
  'certificate-expires-soon',
  'certificate-untrusted',
  'escape-invalid',
  'backslash-ignored',
  'line-continued',
  'property-repeated',
  'server-certificate-old',
]

test('a group pattern that matches nothing has a different effect from one that breaks requests', () => {
  const effectOf = (pattern: string) =>
    findingsOf({
      change: { 'druid.auth.authorizer.roles.roleProvider.groupFilters': JSON.stringify([pattern]) },
    }).map(({ effect }) => effect.split(' ')[0])
  assert.deepEqual(effectOf('cn=o*,ou=groups,dc=example,dc=com'), ['The'])
  for (const pattern of ['*', '*ou=groups,dc=example,dc=com', '*,ou=groups,*', 'analysts'])
    assert.deepEqual(effectOf(pattern), ['Requests'])
  for (const pattern of ['*,ou=groups,dc=example,dc=com', 'cn=a,ou=groups,dc=example,dc=com', 'cn=a,*'])
    assert.deepEqual(effectOf(pattern), [])
})

describe('the checks', () => {
  const codesOf = (change: Change) => findingsOf({ change }).map(({ code }) => code)

  it('accept servers that log in as the administrator, if the password is right', () => {
    const asAdmin = {
      'druid.escalator.internalClientUsername': 'admin',
      'druid.escalator.internalClientPassword': 'admin-9',
    }
    assert.deepEqual(codesOf(asAdmin), [])
    assert.deepEqual(codesOf({ ...noDirectory, ...asAdmin }), [])
    assert.deepEqual(codesOf({ ...asAdmin, 'druid.escalator.internalClientPassword': 'internal-9' }), [
      'escalator-password-wrong',
    ])
  })

  it('compare names with the spaces around them', () => {
    assert.deepEqual(codesOf({ 'druid.auth.authenticator.ldap.authorizerName': 'roles ' }), [
      'authorizer-unknown',
      'value-spaces',
    ])
  })

  it('accept names that Java knows', () => {
    const change = {
      'druid.server.https.keyStoreType': 'PKCS12',
      'druid.client.https.trustStoreType': 'JKS',
      'druid.client.https.protocol': 'TLSv1.3',
      'druid.server.https.includeProtocols': '["TLSv1.2", "TLSv1.3"]',
      'druid.server.https.excludeProtocols': '["SSLv2Hello","TLSv1"]',
      'druid.server.https.includeCipherSuites':
        '["TLS_AES_128_GCM_SHA256","TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384"]',
      'druid.server.https.excludeCipherSuites': '["^.*_(MD5|SHA|SHA1)$","SSL_RSA_WITH_DES_CBC_SHA"]',
    }
    assert.deepEqual(codesOf(change), [])
    // Java reads the type of a trust store for clients only if the server requests certificates.
    assert.deepEqual(codesOf({ 'druid.server.https.trustStoreType': 'jsk' }), [])
  })

  it('report types of authenticators and authorizers that no loaded extension has', () => {
    const type = 'druid.auth.authenticator.stored.type'
    const authorizer = 'druid.auth.authorizer.roles.type'
    const loadList = 'druid.extensions.loadList'
    const own = '["druid-basic-security","simple-client-sslcontext","company-login"]'
    for (const [change, expected] of [
      [{ [type]: 'ldap' }, ['value-invalid']],
      [{ [type]: 'metadata' }, ['value-invalid']],
      [{ [type]: 'oidc' }, ['value-invalid']],
      [{ [type]: 'oidc', [loadList]: undefined }, ['value-invalid']],
      [{ [type]: 'oidc', [loadList]: own }, []],
      [{ [type]: 'trustedDomain' }, []],
      [{ [type]: 'kerberos' }, ['extension-not-loaded']],
      [{ [type]: 'jwt' }, ['extension-not-loaded']],
      [{ [authorizer]: 'ldap' }, ['value-invalid']],
      [{ 'druid.auth.authenticator.other.type': 'oidc' }, []],
    ] as const) {
      const preventing = findingsOf({ change }).filter(({ prevents }) => prevents === 'start')
      assert.deepEqual(
        preventing.map(({ code }) => code),
        expected,
        JSON.stringify(change),
      )
      assert(preventing.every(({ locksOut }) => locksOut === 'everyone'))
    }
  })

  it('accept extensions that are listed by path', () => {
    const loadList = 'druid.extensions.loadList'
    const own = '/opt/druid/extensions'
    assert.deepEqual(
      codesOf({ [loadList]: `["${own}/druid-basic-security/", "../simple-client-sslcontext"]` }),
      [],
    )
    assert.deepEqual(codesOf({ [loadList]: `["${own}/simple-client-sslcontext"]` }), ['extension-not-loaded'])
    assert.deepEqual(
      codesOf({ [loadList]: `["druid-basic-security", "${own}/simple-client-sslcontext-off"]` }),
      ['client-extension-not-loaded'],
    )
  })

  it('say that a server does not start if it cannot open a store at startup', () => {
    const clientKey = {
      'druid.client.https.keyStorePath': 'client.jks',
      'druid.client.https.keyStorePassword': 'client-9',
      'druid.client.https.keyManagerPassword': 'client-9',
    }
    const wrong = { kind: 'closed', reason: 'password' } as const
    const preventing = (one: Omit<Case, 'code'>) =>
      findingsOf(one).flatMap(({ code, prevents }) => (prevents === 'start' ? code : []))
    for (const file of ['server.jks', 'trust.jks', 'client.jks'])
      for (const [code, content] of [
        ['store-missing', { kind: 'missing', file }],
        ['store-not-a-file', { kind: 'notAFile', is: 'a folder' }],
        ['store-password-wrong', wrong],
        ['store-format-unknown', { kind: 'closed', reason: 'format' }],
      ] as const)
        assert.deepEqual(preventing({ change: clientKey, stores: { [file]: content } }), [code], file)
    // Java uses the password of the store for the key at the port of a server, but not for the key of a client.
    const withoutKeyPassword = { ...clientKey, 'druid.client.https.keyManagerPassword': undefined }
    assert.deepEqual(preventing({ change: withoutKeyPassword }), ['key-password-missing'])
    assert.deepEqual(preventing({ change: { 'druid.server.https.keyStorePassword': undefined } }), [
      'store-password-missing',
    ])
    // Without its extension, the stores of the client are not opened.
    const notLoaded = { ...withoutKeyPassword, 'druid.extensions.loadList': '["druid-basic-security"]' }
    assert.deepEqual(preventing({ change: notLoaded, stores: { 'trust.jks': wrong } }), [])
    assert.deepEqual(preventing({ change: { 'druid.client.https.trustStorePath': undefined } }), [
      'client-trust-missing',
    ])
  })

  it('report a trust store that Java reads no certificates from without its password', () => {
    const change = { 'druid.client.https.trustStorePassword': undefined }
    const stores = { 'trust.jks': { kind: 'closed', reason: 'password' } } as const
    const [finding] = findingsOf({ change, stores })
    assert.deepEqual([finding?.code, finding?.prevents], ['store-password-missing', undefined])
    assert.match(
      finding!.problem,
      /has a password, but \[druid\.client\.https\.trustStorePassword\] is not set/,
    )
  })

  it('accept search filters that Java can format with one user name', () => {
    for (const filter of ['(|(uid=%1$s)(mail=%1$s))', '(|(uid=%s)(mail=%1$s))', '(&(uid=%s)(dept=50%%))']) {
      const change = { [`${ldap}.userSearch`]: filter }
      assert.deepEqual(codesOf(change), [], filter)
      assert.deepEqual(refusedSettings({ change }, []), [], filter)
    }
  })

  it('say that svc starts with a filter for which every login fails in Druid', () => {
    for (const filter of ['(|(uid=%s)(mail=%s))', '(&(uid=%s)(dept=50%))']) {
      const [finding] = findingsOf({ change: { [`${ldap}.userSearch`]: filter } })
      assert.match(finding!.effect, /fails with status 500/)
      assert.equal(finding!.locksOut, 'users of ldap')
      assert.match(finding!.up.text, /replaces every %s and keeps other percent signs/)
    }
  })

  it('accept what Druid accepts', () => {
    for (const value of ['10000', '0 ', '+5', ''])
      assert.deepEqual(codesOf({ 'druid.auth.authenticator.stored.credentialIterations': value }), [], value)
    const unread = 'druid.auth.authenticator.stored.credentialsValidator.credentialIterations'
    assert.deepEqual(codesOf({ [unread]: 'abc' }), [])
    for (const value of ['true ', 'True ', '1'])
      assert.deepEqual(codesOf({ 'druid.auth.authenticator.stored.skipOnFailure': value }), [])
    const filters = '["*,ou=groups,dc=example,dc=com"] '
    const change = {
      'druid.auth.authorizer.roles.initialAdminGroupMapping': 'cn=admins,ou=groups,dc=example,dc=com',
      'druid.auth.authorizer.roles.roleProvider.groupFilters': filters,
      'druid.auth.authenticator.ldap.credentialsValidator.baseDn': 'dc=example,dc=com ',
    }
    assert.deepEqual(codesOf(change), [])
  })

  it('know the authorizer that Druid has if none is configured', () => {
    const named = ['authenticator.stored', 'authenticator.ldap'].map((one) => [
      `druid.auth.${one}.authorizerName`,
      'allowAll',
    ])
    const change = {
      ...Object.fromEntries(named),
      'druid.escalator.authorizerName': 'allowAll',
      'druid.auth.authorizers': undefined,
      'druid.auth.authorizer.roles.type': undefined,
      'druid.auth.authorizer.roles.roleProvider.type': undefined,
    }
    assert.deepEqual(codesOf(change), ['authorizers-not-set'])
    const [open] = findingsOf({ change })
    assert.match(open!.effect, /Every user with a login can read, change, and delete everything/)
    assert.equal(open!.up.starts, true)
    // Druid ignores which authorizer is named then.
    assert.deepEqual(codesOf({ ...change, 'druid.escalator.authorizerName': 'roles' }), [
      'authorizers-not-set',
    ])
  })

  it('accept several URLs of a directory, which Java tries in this order', () => {
    const findingsWith = (url: string) => codesOf({ [`${ldap}.url`]: url })
    assert.deepEqual(findingsWith('ldap://127.0.0.1:389  ldap://localhost:390'), [])
    assert.deepEqual(findingsWith('ldap://127.0.0.1 localhost:390'), ['directory-url-invalid'])
    assert.deepEqual(findingsWith('ldap://127.0.0.1 ldap://ldap.example.com'), ['directory-plaintext'])
    assert.deepEqual(findingsWith('ldap://127.0.0.1 ldaps://ldap.example.com'), ['directory-trust-missing'])
  })

  it('say that servers cannot call each other if their user is in an authenticator that is never reached', () => {
    const change = {
      'druid.auth.authenticatorChain': '["ldap","stored"]',
      'druid.auth.authorizer.roles.initialAdminUser': 'alice',
    }
    const lockoutOf = (directory?: LdapProbeResult) =>
      findingsOf({ change, ...(directory ? { directory } : {}) }).map(({ code, locksOut, up, effect }) => [
        code,
        locksOut,
        up === neverReady,
        /servers cannot call each other/.test(effect),
      ])
    assert.deepEqual(lockoutOf(), [['authenticator-unreachable', 'the servers', true, true]])
    const found = { kind: 'searched', findsAnyone: true, found: ['druid_system'] } as const
    assert.deepEqual(lockoutOf(found), [['authenticator-unreachable', undefined, false, false]])
  })

  it('accept every form of a bind user, even with a password that looks like the name of an entry', () => {
    const swapped = 'directory-bind-swapped'
    for (const [user, expected] of [
      ['cn=Directory Manager', []],
      ['employeeNumber=7,dc=example,dc=com', []],
      ['search@example.com', []],
      [String.raw`EXAMPLE\search`, []],
      ['P@ssw0rd!', [swapped]],
      ['a=b', [swapped]],
    ] as const)
      assert.deepEqual(
        codesOf({ [`${ldap}.bindUser`]: user, [`${ldap}.bindPassword`]: 'cn=x,dc=example' }),
        expected,
        user,
      )
    assert.deepEqual(codesOf({ [`${ldap}.bindUser`]: 'search', [`${ldap}.bindPassword`]: 'cn=x' }), [])
  })

  it('find nothing in a configuration without problems', () => {
    assert.deepEqual(
      findingsOf({ directory: { kind: 'searched', findsAnyone: true, found: ['druid_system'] } }),
      [],
    )
  })

  for (const [index, one] of cases.entries())
    it(`report only [${one.code}] for case ${index + 1}`, () => {
      assert.deepEqual(
        findingsOf(one).map(({ code }) => code),
        [one.code],
      )
    })

  it('each have at least one case', () => {
    const inFolders = testConfigurations().flatMap(({ findings }) => findings.map(({ code }) => code))
    const tested = new Set([...cases.map(({ code }) => code), ...inFolders, ...testedWithFiles])
    assert.deepEqual(
      allChecks.map(({ code }) => code).filter((code) => !tested.has(code)),
      [],
    )
    assert.equal(new Set(allChecks.map(({ code }) => code)).size, allChecks.length)
  })
})
