import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  accessChangesText,
  compareAccess,
  noKnownUsers,
  readConfiguration,
  readEndpoints,
  readKnownUsers,
  readLocationMap,
} from './index.ts'

const scratch = mkdtempSync(path.join(tmpdir(), 'svc-doctor-diff-'))
after(() => rmSync(scratch, { recursive: true }))
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

const read = (folder: string) =>
  readConfiguration({ folder, environment: {}, locations: readLocationMap([], folder) })

/** Compares the configuration with one in which texts of the common file are replaced. */
function compareWith(replaced: Readonly<Record<string, string>>, users = known) {
  const folder = mkdtempSync(path.join(scratch, 'conf-'))
  cpSync(original, folder, { recursive: true })
  const file = path.join(folder, '_common/common.runtime.properties')
  let text = readFileSync(file, 'utf8')
  for (const [from, to] of Object.entries(replaced)) {
    assert(text.includes(from), from)
    text = text.replace(from, () => to)
  }
  writeFileSync(file, text)
  return compareAccess(read(original), read(folder), users, endpoints)
}

const summaryOf = (changes: ReturnType<typeof compareWith>) =>
  changes.map(({ subject, before, after: now }) => `${subject}: ${before} -> ${now}`).sort()

const isIn = (changes: ReturnType<typeof compareWith>, subject: string, endpoint: string) =>
  changes.some((change) => change.subject === subject && change.endpoints.includes(endpoint))

const rules = 'GET /druid/coordinator/v1/rules'
const config = 'GET /druid/coordinator/v1/config'

describe('the difference between two configurations', () => {
  it('is empty without a change', () => {
    const changes = compareWith({})
    assert.deepEqual(changes, [])
    assert.equal(accessChangesText(changes), 'No user gains or loses access.\n')
  })

  it('is empty for changes to passwords and to properties that are not about security', () => {
    assert.deepEqual(
      compareWith({
        'aQ9-first-admin-88': 'another-admin-88',
        'druid.storage.type=s3': 'druid.storage.type=hdfs',
      }),
      [],
    )
  })

  it('shows that directory users are locked out', () => {
    const changes = compareWith({ 'metadata.skipOnFailure=true': 'metadata.skipOnFailure=false' })
    assert.deepEqual(summaryOf(changes), [
      'a user of ldap in cn=administrators,ou=groups,dc=example,dc=com: allowed -> refused',
      'a user of ldap in cn=analysts,ou=groups,dc=example,dc=com: allowed -> refused',
      'a user of ldap in cn=analysts,ou=groups,dc=example,dc=com: forbidden -> refused',
      'any other user of ldap: allowed -> refused',
      'any other user of ldap: forbidden -> refused',
    ])
    assert(isIn(changes, 'a user of ldap in cn=administrators,ou=groups,dc=example,dc=com', rules))
    assert.match(accessChangesText(changes), / more; --json lists all/)
  })

  it('shows that the servers are locked out', () => {
    const changes = compareWith({
      'escalator.internalClientPassword=iN5-internal-user-30':
        'escalator.internalClientPassword=another-internal-30',
    })
    assert.deepEqual(summaryOf(changes), ['the servers, as druid_system: allowed -> refused'])
  })

  it('shows that a space after the name of an authorizer takes all permissions away', () => {
    const authorizer = 'druid.auth.authenticator.metadata.authorizerName=metadata'
    const [change] = compareWith({ [authorizer]: `${authorizer} ` }).filter(({ subject }) =>
      subject.startsWith('admin of metadata'),
    )
    assert.deepEqual([change?.before, change?.after], ['allowed', 'forbidden'])
  })

  it('shows that a path is open to everyone, and only this path', () => {
    const changes = compareWith({
      '# Escalator': 'druid.auth.unsecuredPaths=["/druid/coordinator/v1/rules"]',
    })
    assert(summaryOf(changes).includes('callers without a login: refused -> open'))
    assert.deepEqual([...new Set(changes.flatMap((change) => change.endpoints))], [rules])
  })

  it('shows that everything is allowed', () => {
    const changes = compareWith({ 'authorizer.metadata.type=basic': 'authorizer.metadata.type=allowAll' })
    assert.deepEqual(summaryOf(changes), [
      'any other user of metadata: forbidden -> allowed',
      'rita of metadata: forbidden -> allowed',
    ])
    assert(isIn(changes, 'rita of metadata', config))
    assert(!isIn(changes, 'rita of metadata', rules))
  })

  it('shows who loses a role that comes from a group', () => {
    const changes = compareWith({
      'groupFilters=["*,ou=groups,dc=example,dc=com"]':
        'groupFilters=["cn=administrators,ou=groups,dc=example,dc=com"]',
    })
    assert.deepEqual(summaryOf(changes), [
      'a user of ldap in cn=analysts,ou=groups,dc=example,dc=com: allowed -> forbidden',
    ])
    assert(isIn(changes, 'a user of ldap in cn=analysts,ou=groups,dc=example,dc=com', config))
  })

  it('shows what the loss of all logins opens', () => {
    const changes = compareWith({ 'druid.auth.authenticatorChain=["metadata", "ldap"]': '' }, noKnownUsers)
    assert(isIn(changes, 'callers without a login', rules))
    assert(changes.every((change) => change.after === 'open'))
  })
})
