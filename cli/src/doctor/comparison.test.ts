import assert from 'node:assert/strict'
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { escapeInvisible } from '@svc/domain/validation'
import { startSurroundings, testConfigurations } from '../testing/index.ts'
import {
  compareConfigurations,
  comparisonText,
  type Examination,
  examine,
  noKnownUsers,
  readEndpoints,
  readKnownUsers,
} from './index.ts'
import { findRecoveries, recoveryTexts } from './lockouts.ts'
import { serversOfRoles } from './servers-of-roles.ts'

const now = Date.parse('2026-11-01T00:00:00Z')
const scratch = mkdtempSync(path.join(tmpdir(), 'svc-doctor-diff-'))
const surroundings = await startSurroundings(path.join(scratch, 'configurations'), now)
after(async () => {
  await surroundings.stop()
  rmSync(scratch, { recursive: true })
})
const original = fileURLToPath(
  new URL('configurations/good/metadata-store-and-directory/conf/druid/cluster', import.meta.url),
)
const endpoints = await readEndpoints()

const usersFile = path.join(scratch, 'state.yaml')
writeFileSync(
  usersFile,
  `authenticators:
  metadata:
    users:
      rita: {}
authorizers:
  metadata:
    roles:
      reader:
        - resource: {type: STATE, name: STATE}
          action: READ
    users:
      rita: [reader]
  ldap:
    roles:
      analyst:
        - resource: {type: CONFIG, name: CONFIG}
          action: READ
    users: {}
    groupMappings:
      analysts:
        groupPattern: cn=analysts,ou=groups,dc=example,dc=com
        roles: [analyst]
`,
)
const known = readKnownUsers(usersFile)

const read = (folder: string) => examine({ folder, environment: {}, maps: [], isOffline: true, now })

/** Compares the configuration with one in which texts of the common file are replaced. */
async function compareWith(replaced: Readonly<Record<string, string>>, users = known) {
  const folder = mkdtempSync(path.join(scratch, 'conf-'))
  cpSync(original, folder, { recursive: true })
  const file = path.join(folder, '_common/common.runtime.properties')
  let text = readFileSync(file, 'utf8')
  for (const [from, to] of Object.entries(replaced)) {
    assert(text.includes(from), from)
    text = text.replace(from, () => to)
  }
  writeFileSync(file, text)
  return compareConfigurations(await read(original), await read(folder), users, endpoints)
}

type Comparison = Awaited<ReturnType<typeof compareWith>>

const summaryOf = ({ changes }: Comparison) =>
  changes.map(({ subject, before, after: now }) => `${subject}: ${before} -> ${now}`).sort()

const lockedOutBy = ({ lockouts }: Pick<Comparison, 'lockouts'>) =>
  lockouts.map(({ subject, loses }) => `${subject}: ${loses}`)

const isIn = ({ changes }: Comparison, subject: string, endpoint: string) =>
  changes.some((change) => change.subject === subject && change.endpoints.includes(endpoint))

const rules = 'GET /druid/coordinator/v1/rules'
const config = 'GET /druid/coordinator/v1/config'

describe('the difference between two configurations', () => {
  it('is empty without a change', async () => {
    const comparison = await compareWith({})
    assert.deepEqual(comparison, { lockouts: [], recoveries: [], changes: [] })
    assert.equal(comparisonText(comparison, 5), 'No user gains or loses access.\n')
  })

  it('is empty for changes to initial passwords and to properties that are not about security', async () => {
    assert.deepEqual(
      await compareWith({
        'aQ9-first-admin-88': 'another-admin-88',
        'druid.storage.type=s3': 'druid.storage.type=hdfs',
      }),
      { lockouts: [], recoveries: [], changes: [] },
    )
  })

  it('is empty if the authenticator of a directory gets another name', async () => {
    const comparison = await compareWith({
      'authenticatorChain=["metadata", "ldap"]': 'authenticatorChain=["metadata", "directory"]',
      'druid.auth.authenticator.ldap.type=': 'druid.auth.authenticator.directory.type=',
      ...Object.fromEntries(
        ['type', 'url', 'bindUser', 'bindPassword', 'baseDn', 'userSearch'].map((end) => [
          `druid.auth.authenticator.ldap.credentialsValidator.${end}=`,
          `druid.auth.authenticator.directory.credentialsValidator.${end}=`,
        ]),
      ),
      'authenticator.ldap.authorizerName': 'authenticator.directory.authorizerName',
    })
    assert.deepEqual(comparison, { lockouts: [], recoveries: [], changes: [] })
  })

  it('knows the authorizer that allows everything, which Druid has if none is configured', async () => {
    const authorizer = 'druid.auth.authenticator.metadata.authorizerName=metadata'
    const comparison = await compareWith({
      [authorizer]: 'druid.auth.authenticator.metadata.authorizerName=allowAll',
      'druid.auth.authorizers=': 'druid.auth.unused=',
    })
    assert.deepEqual(
      comparison.lockouts.filter(({ subject }) => subject.includes('metadata')),
      [],
    )
    assert.ok(
      summaryOf(comparison).includes('any other user of metadata: forbidden -> allowed'),
      summaryOf(comparison).join(),
    )
  })

  it('shows who is no longer locked out, unless another problem still locks them out', () => {
    const finding = (code: string, more: object = {}) => ({
      code,
      problem: `Problem ${code}`,
      file: 'common',
      line: 1,
      servers: ['a', 'b'],
      locksOut: 'users of ldap',
      ...more,
    })
    const examined = (...findings: object[]) =>
      ({
        findings,
        configuration: { servers: [{ name: 'a' }, { name: 'b' }] },
      }) as unknown as Examination
    const texts = (before: Examination, after: Examination) => recoveryTexts(findRecoveries(before, after), 2)
    const both = examined(finding('one'), finding('two'))
    assert.deepEqual(texts(both, examined()), [
      'users of ldap: no longer locked out of all servers\n  Fixed: Problem one (common:1).',
      'users of ldap: no longer locked out of all servers\n  Fixed: Problem two (common:1).',
    ])
    assert.deepEqual(texts(both, examined(finding('two'))), [])
    assert.deepEqual(texts(both, examined(finding('three', { locksOut: 'everyone', servers: ['a'] }))), [
      'users of ldap: no longer locked out of b\n  Fixed: Problem one (common:1).',
      'users of ldap: no longer locked out of b\n  Fixed: Problem two (common:1).',
    ])
  })

  it('shows that directory users are locked out', async () => {
    const comparison = await compareWith({ 'metadata.skipOnFailure=true': 'metadata.skipOnFailure=false' })
    assert.deepEqual(summaryOf(comparison), [
      'a user of ldap in cn=administrators,ou=groups,dc=example,dc=com: allowed -> refused',
      'a user of ldap in cn=analysts,ou=groups,dc=example,dc=com: allowed -> refused',
      'a user of ldap in cn=analysts,ou=groups,dc=example,dc=com: forbidden -> refused',
      'any other user of ldap: allowed -> refused',
      'any other user of ldap: forbidden -> refused',
    ])
    assert.deepEqual(lockedOutBy(comparison).sort(), [
      'a user of ldap in cn=administrators,ou=groups,dc=example,dc=com: access',
      'a user of ldap in cn=analysts,ou=groups,dc=example,dc=com: access',
      'any other user of ldap: access',
    ])
    assert(isIn(comparison, 'a user of ldap in cn=administrators,ou=groups,dc=example,dc=com', rules))
    const text = comparisonText(comparison, 5)
    assert.match(text, / more; --json lists all/)
    assert.match(
      text,
      /^any other user of ldap: locked out of all servers\n {2}\[metadata\] rejects users that it does not know, before \[ldap\] is tried\.\n\n/,
    )
  })

  it('shows that directory users are locked out if Druid does not use their directory', async () => {
    const type = 'druid.auth.authenticator.ldap.credentialsValidator.type='
    for (const written of ['# ', `${type}lpad`, `${type}metadata`]) {
      const { lockouts } = await compareWith({ [`${type}ldap`]: written })
      assert.deepEqual(lockedOutBy({ lockouts }).sort(), [
        'a user of ldap in cn=administrators,ou=groups,dc=example,dc=com: access',
        'a user of ldap in cn=analysts,ou=groups,dc=example,dc=com: access',
        'any other user of ldap: access',
      ])
      const reason =
        '[druid.auth.authenticator.ldap.credentialsValidator.type] is not [ldap], so [ldap] looks for users in the metadata store'
      assert(lockouts.every((one) => one.reason === reason && one.servers.length === 5))
    }
  })

  it('shows that a filter for which every login fails locks out directory users', async () => {
    const filter = 'userSearch=(&(uid=%s)'
    const { lockouts } = await compareWith({ [filter]: `${filter}(mail=%s)` })
    assert.deepEqual(lockedOutBy({ lockouts }), ['users of ldap: access'])
    assert.match(lockouts[0]!.reason, /contains 2 placeholders without an index/)
  })

  it('shows that servers with an unusable chain refuse everyone', async () => {
    const chain = 'druid.auth.authenticatorChain='
    const without = { [`${chain}["metadata", "ldap"]`]: '' }
    for (const value of ['[]', 'metadata', '["metadata", "metadata"]']) {
      const comparison = await compareWith({ [`${chain}["metadata", "ldap"]`]: `${chain}${value}` })
      assert(lockedOutBy(comparison).includes('everyone: access'), value)
      assert(
        summaryOf(comparison).every((change) => /-> refused$/.test(change)),
        value,
      )
    }
    assert(summaryOf(await compareWith(without)).every((change) => /-> open$/.test(change)))
  })

  it('escapes control characters and marks that change the direction of text', async () => {
    const name = '\\u001b[2J\\u0007\\u202e'
    const comparison = await compareWith({
      'escalator.internalClientUsername=druid_system': `escalator.internalClientUsername=${name}`,
    })
    const text = comparisonText(comparison, 5)
    assert.equal(escapeInvisible(text.replaceAll('\n', '')), text.replaceAll('\n', ''))
    assert(text.includes(`now as ${name}: locked out of`))
    assert(text.includes(`has changed to [${name}]`))
    assert(text.includes(`now as ${name}: allowed -> refused`))
    // JSON keeps the names as they are.
    assert(comparison.lockouts.some(({ subject }) => subject.endsWith('\u001b[2J\u0007\u202e')))
  })

  it('shows that the servers are locked out', async () => {
    const comparison = await compareWith({
      'escalator.internalClientPassword=iN5-internal-user-30':
        'escalator.internalClientPassword=another-internal-30',
    })
    assert.deepEqual(summaryOf(comparison), ['the servers, as druid_system: allowed -> refused'])
    assert.deepEqual(lockedOutBy(comparison), ['the servers: access'])
  })

  it('shows that the servers are locked out by a user name that nobody creates', async () => {
    const comparison = await compareWith({
      'escalator.internalClientUsername=druid_system': 'escalator.internalClientUsername=servers',
    })
    assert.deepEqual(lockedOutBy(comparison), ['the servers, as druid_system, now as servers: access'])
    assert.match(comparison.lockouts[0]!.reason, /creates only the user \[druid_system\]/)
  })

  it('shows that a started cluster keeps the password of the servers', async () => {
    const comparison = await compareWith({
      'initialInternalClientPassword=iN5-internal-user-30': 'initialInternalClientPassword=another-30',
      'escalator.internalClientPassword=iN5-internal-user-30': 'escalator.internalClientPassword=another-30',
    })
    assert.deepEqual(lockedOutBy(comparison), ['the servers, as druid_system: access'])
    assert.match(comparison.lockouts[0]!.reason, /keeps the old password of \[druid_system\]/)
    assert(!JSON.stringify(comparison).includes('another-30'))
  })

  it('shows that a space after the name of an authorizer takes all permissions away', async () => {
    const authorizer = 'druid.auth.authenticator.metadata.authorizerName=metadata'
    const comparison = await compareWith({ [authorizer]: `${authorizer} ` })
    const [change] = comparison.changes.filter(({ subject }) => subject.startsWith('admin of metadata'))
    assert.deepEqual([change?.before, change?.after], ['allowed', 'forbidden'])
    assert.deepEqual(lockedOutBy(comparison), [
      'the servers: access',
      'admin of metadata: permissions',
      'rita of metadata: permissions',
    ])
  })

  it('shows that directory users are locked out by an unknown authorizer, even if no users are known', async () => {
    const authorizer = 'druid.auth.authenticator.ldap.authorizerName=ldap'
    const { lockouts } = await compareWith({ [authorizer]: `${authorizer}s` }, noKnownUsers)
    assert.deepEqual(lockedOutBy({ lockouts }), [
      'users of ldap: access',
      'a user of ldap in cn=administrators,ou=groups,dc=example,dc=com: permissions',
    ])
    assert.match(lockouts[0]!.reason, /authorizerName\] is \[ldaps\], but/)
  })

  it('shows that a path is open to everyone, and only this path', async () => {
    const comparison = await compareWith({
      '# Escalator': 'druid.auth.unsecuredPaths=["/druid/coordinator/v1/rules"]',
    })
    assert(summaryOf(comparison).includes('callers without a login: refused -> open'))
    assert.deepEqual([...new Set(comparison.changes.flatMap((change) => change.endpoints))], [rules])
    assert.deepEqual(comparison.lockouts, [])
  })

  it('shows that callers without a login have the permissions of the anonymous user, and no others', async () => {
    const withAnonymous = (lines: readonly string[]) =>
      compareWith({
        'authenticatorChain=["metadata", "ldap"]': [
          'authenticatorChain=["metadata", "ldap", "guests"]',
          'druid.auth.authenticator.guests.type=anonymous',
          'druid.auth.authenticator.guests.authorizerName=metadata',
          ...lines,
        ].join('\n'),
      })
    const openTo = ({ changes }: Comparison) =>
      changes.find((one) => one.subject === 'callers without a login' && one.after === 'open')?.endpoints ??
      []
    const ofUnknownUser = openTo(await withAnonymous([]))
    assert(ofUnknownUser.length > 0, 'some endpoints require only a login')
    assert(!ofUnknownUser.includes(rules))
    const ofRita = openTo(await withAnonymous(['druid.auth.authenticator.guests.identity=rita']))
    assert(ofRita.includes(rules))
    assert(!ofRita.includes(config))
  })

  it('gives servers that have no folder only the properties of the common file', async () => {
    const folders = ['before', 'after'].map((name) => path.join(scratch, `without-router-${name}`)) as [
      string,
      string,
    ]
    for (const folder of folders) {
      cpSync(original, folder, { recursive: true })
      for (const own of ['query/router', 'data/historical', 'data/middleManager'])
        rmSync(path.join(folder, own), { recursive: true, force: true })
    }
    const own = path.join(folders[1], 'query/broker/runtime.properties')
    appendFileSync(own, 'druid.escalator.internalClientPassword=another-9\n')
    const rolesOf = async (folder: string) => serversOfRoles((await read(folder)).configuration)
    const [before, after] = [await rolesOf(folders[0]), await rolesOf(folders[1])]
    for (const role of ['router', 'historical'] as const) assert.deepEqual(after[role], before[role])
    assert.notDeepEqual(after.broker, before.broker)
  })

  it('shows that everything is allowed', async () => {
    const comparison = await compareWith({
      'authorizer.metadata.type=basic': 'authorizer.metadata.type=allowAll',
    })
    assert.deepEqual(summaryOf(comparison), [
      'any other user of metadata: forbidden -> allowed',
      'rita of metadata: forbidden -> allowed',
    ])
    assert(isIn(comparison, 'rita of metadata', config))
    assert(!isIn(comparison, 'rita of metadata', rules))
    assert.deepEqual(comparison.lockouts, [])
  })

  it('shows who loses a role that comes from a group', async () => {
    const comparison = await compareWith({
      'groupFilters=["*,ou=groups,dc=example,dc=com"]':
        'groupFilters=["cn=administrators,ou=groups,dc=example,dc=com"]',
    })
    const analysts = 'a user of ldap in cn=analysts,ou=groups,dc=example,dc=com'
    assert.deepEqual(summaryOf(comparison), [`${analysts}: allowed -> forbidden`])
    assert(isIn(comparison, analysts, config))
    assert.deepEqual(lockedOutBy(comparison), [`${analysts}: permissions`])
    assert.match(comparison.lockouts[0]!.reason, /^Authorizer \[ldap\] grants this user no permissions$/)
  })

  it('shows what the loss of all logins opens', async () => {
    const comparison = await compareWith(
      { 'druid.auth.authenticatorChain=["metadata", "ldap"]': '' },
      noKnownUsers,
    )
    assert(isIn(comparison, 'callers without a login', rules))
    assert(comparison.changes.every((change) => change.after === 'open'))
    assert.deepEqual(comparison.lockouts, [])
  })
})

/** Whom a change from a good configuration to each broken one locks out. The other problems show only in connections. */
const lockedOut: Readonly<Record<string, readonly string[]>> = {
  'authorizer-name-mismatch': ['the servers: access', 'admin of MyBasicMetadataAuthenticator: permissions'],
  'chain-hides-internal-user': ['the servers: access', 'admin of metadata: access'],
  'chain-names-unknown-authenticator': [
    'everyone: access',
    'any other user of ldap: access',
    'a user of ldap in cn=administrators,ou=groups,dc=example,dc=com: access',
  ],
  'default-passwords': ['the servers, as druid_system: access'],
  'different-escalator-passwords': ['the servers: access'],
  'directory-never-reached': [
    'any other user of ldap: access',
    'a user of ldap in cn=administrators,ou=groups,dc=example,dc=com: access',
  ],
  'escalator-forgotten': ['the servers: access'],
  'everything-unsecured': [],
  'expired-certificate': ['everyone: access'],
  'extension-forgotten': ['everyone: access'],
  'filter-finds-nobody': [],
  'filter-typo': ['users of ldap: access'],
  'group-pattern-star': [
    'users of ldap: access',
    'a user of ldap in cn=administrators,ou=groups,dc=example,dc=com: permissions',
  ],
  'host-not-in-certificate': ['the servers: access'],
  'intermediate-missing': ['the servers: access'],
  'ldaps-without-trust-store': ['users of ldap: access'],
  'plaintext-left-open': [],
  'swapped-stores': ['everyone: access'],
  'wrong-bind-dn': [],
  'wrong-store-password': ['everyone: access'],
}

/** Whom the opposite change locks out: users of a removed authenticator, and servers with a new password. */
const lockedOutByReversal: Readonly<Record<string, readonly string[]>> = {
  'chain-hides-internal-user': ['admin of customers: access', 'any other user of customers: access'],
  'default-passwords': ['the servers, as druid_system: access'],
}

describe('the change from a good configuration', async () => {
  const configurations = testConfigurations()
  const examined = (name: string) => {
    const configuration = configurations.find((one) => one.name === name)!
    return examine({ ...surroundings.prepare(configuration), isOffline: true })
  }
  const good = {
    stored: await examined('metadata-store'),
    directory: await examined('metadata-store-and-directory'),
  }
  for (const { name, kind, stores } of configurations)
    if (kind === 'broken')
      it(`to ${name} locks out exactly those it should`, async () => {
        const before = Object.keys(stores).some((store) => store.includes('ldap'))
          ? good.directory
          : good.stored
        const after = await examined(name)
        const comparison = compareConfigurations(before, after, noKnownUsers, endpoints)
        assert.deepEqual(lockedOutBy(comparison), lockedOut[name])
        const back = compareConfigurations(after, before, noKnownUsers, endpoints)
        assert.deepEqual(lockedOutBy(back), lockedOutByReversal[name] ?? [])
        // A change that ends a lockout has an effect.
        if (comparison.lockouts.length > 0)
          assert.doesNotMatch(comparisonText(back, 5), /No user gains or loses access/)
        assert.deepEqual(comparison.recoveries, [])
        for (const { reason, subject } of back.recoveries)
          assert.ok(comparison.lockouts.some((one) => one.subject === subject && one.reason === reason))
      })
})
