import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import type { LdapProbeResult } from '@svc/shared/security'
import { testConfigurations } from '../testing/index.ts'
import { allChecks } from './checks/index.ts'
import type { Configuration, Property, Server } from './configuration.ts'
import type { Facts } from './facts.ts'
import { type Finding, findProblems } from './findings.ts'
import { resolveValue } from './resolve-value.ts'
import type { ServedTls } from './served-tls.ts'
import type { StoreContent } from './stores.ts'

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
  { code: 'authorizer-undefined', change: { 'druid.auth.authorizers': '["roles","role"]' } },
  { code: 'everything-allowed', change: { 'druid.auth.authorizer.roles.type': 'allowAll' } },
  {
    code: 'directory-groups-ignored',
    change: { 'druid.auth.authorizer.roles.roleProvider.type': undefined },
  },
  {
    code: 'administrator-missing',
    change: { ...noStored, 'druid.auth.authorizer.roles.initialAdminUser': undefined },
  },
  { code: 'escalator-incomplete', change: { 'druid.escalator.internalClientUsername': undefined } },
  { code: 'escalator-password-wrong', change: { 'druid.escalator.internalClientPassword': 'another-9' } },
  {
    code: 'internal-user-not-created',
    change: { ...noDirectory, 'druid.escalator.internalClientUsername': 'servers' },
  },
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
    code: 'value-unknown',
    change: { 'druid.auth.authenticatorChain': `\${env:CHAIN}`, 'druid.escalator.type': undefined },
  },
  { code: 'directory-url-invalid', change: { [`${ldap}.url`]: 'ldap.example.com:389' } },
  { code: 'directory-url-invalid', change: { [`${ldap}.url`]: undefined } },
  { code: 'directory-plaintext', change: { [`${ldap}.url`]: 'ldap://ldap.example.com' } },
  { code: 'directory-port-swapped', change: { [`${ldap}.url`]: 'ldap://127.0.0.1:636' } },
  { code: 'directory-base-invalid', change: { [`${ldap}.baseDn`]: 'example.com' } },
  { code: 'directory-filter-invalid', change: { [`${ldap}.userSearch`]: '(uid=alice)' } },
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
  { code: 'value-spaces', change: { 'druid.auth.authorizer.roles.initialAdminRole': 'admin\t' } },
  {
    code: 'key-password-wrong',
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

function findingsOf({
  change = {},
  second = {},
  directory,
  served,
  stores = {},
}: Omit<Case, 'code'>): Finding[] {
  const configuration: Configuration = {
    commonFile: 'common',
    servers: [
      serverOf('broker', change),
      serverOf('historical', { ...change, ...second }),
      serverOf('router', change),
    ],
    repetitions: [],
  }
  const facts: Facts = {
    storeOf: ({ path }) => stores[path],
    filterProblem: () => undefined,
    directoryOf: () => directory,
    tlsOf: () => served,
  }
  return findProblems(allChecks, { configuration, facts, now })
}

/** Tested with files, in examine.test.ts. */
const testedWithFiles = [
  'certificate-not-yet-valid',
  'certificate-expires-soon',
  'certificate-untrusted',
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

  it('accept what Druid accepts', () => {
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
