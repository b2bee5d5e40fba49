// The requests with which the console changes roles and group mappings, and the certificates that it lists, without a browser.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  deleteMapping,
  deleteRole,
  permissionsOf,
  rowsOf,
  saveMapping,
  saveRole,
} from '../console/src/access/access-edits.ts'
import { certificateRows } from '../console/src/access/certificate-rows.ts'
import type { Change, SentChange } from '../console/src/access/change.ts'

const read = (name: string) => ({ resource: { type: 'DATASOURCE', name }, action: 'READ' as const })
const access = {
  accountsPath: '/at',
  users: { ann: ['reader'], bob: ['reader', 'writer'], eve: [] },
  roles: { reader: [read('wiki')], writer: [] },
  mappings: { staff: { groupPattern: 'cn=staff,dc=x', roles: ['reader'] } },
}

const short = ({ method, path }: SentChange): string => `${method} ${path}`
const shortAll = (changes: readonly Change[]) =>
  changes.map((change) => [short(change), (change.undo ?? []).map(short)])

describe('changes to a role', () => {
  test('create it with its permissions', () => {
    const changes = saveRole(access, 'a b', [read('x')])
    assert.deepEqual(shortAll(changes), [
      ['POST /at/roles/a%20b', ['DELETE /at/roles/a%20b']],
      ['POST /at/roles/a%20b/permissions', []],
    ])
    assert.deepEqual(changes[1]!.body, [read('x')])
  })

  test('create one that is named like a property of every object', () => {
    assert.equal(short(saveRole(access, 'constructor', [])[0]!), 'POST /at/roles/constructor')
    const [change] = saveMapping(access, 'toString', { groupPattern: '*', roles: [] })
    assert.deepEqual(change!.body, { name: 'toString', groupPattern: '*', roles: [] })
  })

  test('replace its permissions, and keep the earlier ones for the undo', () => {
    const [change] = saveRole(access, 'reader', [])
    assert.deepEqual([change!.body, change!.undo![0]!.body], [[], [read('wiki')]])
  })

  test('delete it, and restore it with its permissions, users, and group mappings', () => {
    const changes = deleteRole(access, 'reader')
    assert.deepEqual(shortAll(changes), [
      [
        'DELETE /at/roles/reader',
        [
          'POST /at/roles/reader',
          'POST /at/roles/reader/permissions',
          'POST /at/users/ann/roles/reader',
          'POST /at/users/bob/roles/reader',
          'POST /at/groupMappings/staff/roles/reader',
        ],
      ],
    ])
  })
})

describe('changes to a group mapping', () => {
  const at = '/at/groupMappings/staff'
  const edit = (groupPattern: string, ...roles: string[]) =>
    shortAll(saveMapping(access, 'staff', { groupPattern, roles }))

  test('create it', () => {
    const changes = saveMapping(access, 'new', { groupPattern: '*', roles: ['writer'] })
    assert.deepEqual(shortAll(changes), [['POST /at/groupMappings/new', ['DELETE /at/groupMappings/new']]])
    assert.deepEqual(changes[0]!.body, { name: 'new', groupPattern: '*', roles: ['writer'] })
  })

  test('assign and remove roles', () => {
    assert.deepEqual(edit('cn=staff,dc=x', 'writer'), [
      [`POST ${at}/roles/writer`, [`DELETE ${at}/roles/writer`]],
      [`DELETE ${at}/roles/reader`, [`POST ${at}/roles/reader`]],
    ])
    assert.deepEqual(edit('cn=staff,dc=x', 'reader'), [])
  })

  test('create it again with another pattern', () => {
    assert.deepEqual(edit('*', 'reader'), [
      [`DELETE ${at}`, [`POST ${at}`]],
      [`POST ${at}`, [`DELETE ${at}`]],
    ])
  })

  test('delete it, and restore it', () => {
    const [change] = deleteMapping(access, 'staff')
    assert.deepEqual(change!.undo![0]!.body, { name: 'staff', ...access.mappings.staff })
  })
})

test('permissions are the same after they were shown as rows', () => {
  const both = [
    { ...read('a'), action: 'READ' as const },
    { ...read('a'), action: 'WRITE' as const },
    { resource: { type: 'STATE', name: 'STATE' }, action: 'WRITE' as const },
  ]
  assert.deepEqual(permissionsOf(rowsOf(both)), both)
  assert.equal(rowsOf(both).length, 2)
})

test('certificates with problems are first, then those that expire first', () => {
  const certificate = (validTo: string) => ({
    subject: 'CN=x',
    issuer: 'CN=authority',
    names: 'DNS:x',
    validFrom: '2026-01-01T00:00:00.000Z',
    validTo,
    fingerprint: validTo,
  })
  const server = (name: string, validTo: string, problem: string | null = null) => ({
    role: 'broker',
    server: name,
    certificate: certificate(validTo),
    problem,
  })
  const rows = certificateRows({
    time: '2026-02-01T00:00:00.000Z',
    servers: [
      server('fine', '2027-01-01T00:00:00.000Z'),
      server('soon', '2026-02-03T00:00:00.000Z'),
      server('expired', '2026-01-31T00:00:00.000Z', 'CERT_HAS_EXPIRED'),
      server('revoked', '2027-01-01T00:00:00.000Z', 'CERT_REVOKED'),
      { role: 'broker', server: 'down', certificate: null, problem: 'refused' },
    ],
    authorities: [certificate('2026-12-01T00:00:00.000Z')],
  })
  assert.deepEqual(
    rows.map(({ role, server: name, state }) => [name || role, state]),
    [
      ['down', 'unreachable: refused'],
      ['expired', 'expired'],
      ['soon', 'expires soon'],
      ['revoked', 'revoked'],
      ['trusted authority', 'valid'],
      ['fine', 'valid'],
    ],
  )
})
