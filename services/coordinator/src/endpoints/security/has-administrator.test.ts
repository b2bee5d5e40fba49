import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Permission } from '@svc/domain/access'
import type { Credentials, UsersAndRoles } from '@svc/shared/security'
import { testSettings } from '@svc/shared/testing'
import { administratorTest } from './has-administrator.ts'

const password: Credentials = {
  algorithm: 'scrypt',
  cost: 2,
  blockSize: 1,
  parallelization: 1,
  salt: '',
  hash: '',
}
const writesSecurity: Permission = { resource: { type: 'CONFIG', name: 'security' }, action: 'WRITE' }
const group = 'cn=administrators,dc=example,dc=org'

interface Row {
  readonly name: string
  /** The chain. A and B have stored users, L and K query a directory. */
  readonly chain: readonly string[]
  /** Authenticators with skipOnFailure. */
  readonly skips?: readonly string[]
  readonly authenticators?: Readonly<Record<string, Readonly<Record<string, Credentials | null>>>>
  /** Users with the role. */
  readonly administrators?: readonly string[]
  /** Whether the administrator group is mapped to the role. */
  readonly isMapped?: boolean
  readonly properties?: Readonly<Record<string, string>>
  readonly caller?: { readonly identity: string; readonly authenticator: string; readonly groups: string[] }
  readonly expected: boolean
}

const ofA = { A: { ann: password } }
const rows: readonly Row[] = [
  { name: 'nobody', chain: ['A'], expected: false },
  {
    name: 'a user with a password',
    chain: ['A'],
    authenticators: ofA,
    administrators: ['ann'],
    expected: true,
  },
  { name: 'a user without the role', chain: ['A'], authenticators: ofA, expected: false },
  { name: 'a user who cannot log in', chain: ['A'], administrators: ['ann'], expected: false },
  {
    name: 'a user without a password',
    chain: ['A'],
    authenticators: { A: { ann: null } },
    administrators: ['ann'],
    expected: false,
  },
  {
    name: 'the internal user',
    chain: ['A'],
    authenticators: { A: { svc_system: password } },
    administrators: ['svc_system'],
    expected: false,
  },
  {
    name: 'a user with a colon in the name',
    chain: ['A'],
    authenticators: { A: { 'x:y': password } },
    administrators: ['x:y'],
    expected: false,
  },
  {
    name: 'a user of an authenticator that is tried',
    chain: ['A', 'B'],
    skips: ['A'],
    authenticators: { B: { ann: password } },
    administrators: ['ann'],
    expected: true,
  },
  {
    name: 'a user of an authenticator that is never tried',
    chain: ['A', 'B'],
    authenticators: { B: { ann: password } },
    administrators: ['ann'],
    expected: false,
  },
  {
    name: 'a user of an authenticator outside the chain',
    chain: ['A'],
    authenticators: { B: { ann: password } },
    administrators: ['ann'],
    expected: false,
  },
  {
    name: 'a user whose name another user has in an earlier authenticator',
    chain: ['A', 'B'],
    skips: ['A'],
    authenticators: { A: { ann: password }, B: { ann: password } },
    administrators: ['ann'],
    properties: { 'svc.auth.authenticator.A.authorizerName': 'other' },
    expected: false,
  },
  {
    name: 'a user whom only a directory could know',
    chain: ['A', 'L'],
    skips: ['A'],
    administrators: ['ann'],
    expected: false,
  },
  { name: 'a group that may have no members', chain: ['L'], isMapped: true, expected: false },
  {
    name: 'the caller through a directory group',
    chain: ['A', 'L'],
    skips: ['A'],
    isMapped: true,
    caller: { identity: 'dan', authenticator: 'L', groups: [group] },
    expected: true,
  },
  {
    name: 'the caller through a role',
    chain: ['L'],
    administrators: ['dan'],
    caller: { identity: 'dan', authenticator: 'L', groups: [] },
    expected: true,
  },
  {
    name: 'the caller without the group mapping',
    chain: ['L'],
    caller: { identity: 'dan', authenticator: 'L', groups: [group] },
    expected: false,
  },
  {
    name: 'the caller through a group that the filters exclude',
    chain: ['L'],
    isMapped: true,
    properties: { 'svc.auth.authorizer.Z.roleProvider.groupFilters': '["cn=others,*"]' },
    caller: { identity: 'dan', authenticator: 'L', groups: [group] },
    expected: false,
  },
  {
    name: 'the caller, now hidden by a stored user',
    chain: ['A', 'L'],
    skips: ['A'],
    isMapped: true,
    authenticators: { A: { dan: password } },
    caller: { identity: 'dan', authenticator: 'L', groups: [group] },
    expected: false,
  },
  {
    name: 'the caller as the internal user of the directory',
    chain: ['L'],
    administrators: ['svc_system'],
    caller: { identity: 'svc_system', authenticator: 'L', groups: [] },
    expected: false,
  },
  {
    name: 'the caller, whose login was removed',
    chain: ['A'],
    administrators: ['ann'],
    caller: { identity: 'ann', authenticator: 'A', groups: [] },
    expected: false,
  },
  {
    name: 'any user who can log in if that is enough',
    chain: ['A'],
    authenticators: ofA,
    properties: { 'svc.auth.authorizer.Z.type': 'allowAll' },
    expected: true,
  },
  { name: 'everyone', chain: ['A', 'allowAll'], skips: ['A'], expected: false },
  {
    name: 'everyone if everyone may do everything',
    chain: ['open'],
    properties: {
      'svc.auth.authenticator.open.type': 'allowAll',
      'svc.auth.authenticator.open.authorizerName': 'allowAll',
    },
    expected: true,
  },
]

describe('the test for an administrator', () => {
  for (const row of rows) {
    const { name, chain, skips = [], authenticators = {}, administrators = [], isMapped, expected } = row
    it(`${expected ? 'accepts' : 'does not accept'} ${name}`, async () => {
      const settings = testSettings('coordinator', {
        'svc.auth.authenticatorChain': JSON.stringify(chain),
        ...Object.fromEntries(
          ['A', 'B', 'L'].flatMap((one) => [
            [`svc.auth.authenticator.${one}.type`, 'basic'],
            [`svc.auth.authenticator.${one}.authorizerName`, 'Z'],
            [`svc.auth.authenticator.${one}.skipOnFailure`, String(skips.includes(one))],
          ]),
        ),
        'svc.auth.authenticator.L.credentialsValidator.type': 'ldap',
        'svc.auth.authenticator.L.credentialsValidator.url': 'ldap://127.0.0.1:1',
        'svc.auth.authenticator.L.credentialsValidator.baseDn': 'dc=example,dc=org',
        'svc.auth.authorizers': '["Z","other","allowAll"]',
        'svc.auth.authorizer.Z.type': 'basic',
        'svc.auth.authorizer.Z.roleProvider.type': 'ldap',
        'svc.auth.authorizer.other.type': 'basic',
        'svc.escalator.type': 'basic',
        'svc.escalator.internalClientPassword': 'internal',
        ...row.properties,
      })
      const stored: UsersAndRoles = {
        version: 1,
        authenticators,
        authorizers: {
          Z: {
            users: Object.fromEntries(administrators.map((user) => [user, ['admin']])),
            roles: { admin: [writesSecurity] },
            groupMappings: isMapped ? { some: { groupPattern: group, roles: ['admin'] } } : {},
          },
        },
      }
      const caller = row.caller ?? { identity: 'asker', authenticator: 'A', groups: [] }
      assert.equal(await administratorTest(settings, caller)(stored), expected)
    })
  }

  it('does not read the permissions of other users if the caller is one', async () => {
    const settings = testSettings('coordinator', {
      'svc.auth.authenticatorChain': '["A"]',
      'svc.auth.authenticator.A.type': 'basic',
      'svc.auth.authenticator.A.authorizerName': 'Z',
      'svc.auth.authorizers': '["Z"]',
      'svc.auth.authorizer.Z.type': 'basic',
      'svc.escalator.type': 'basic',
      'svc.escalator.internalClientPassword': 'internal',
    })
    const roles = {
      admin: [writesSecurity],
      get many(): readonly Permission[] {
        throw new Error('The permissions were read')
      },
    }
    const stored: UsersAndRoles = {
      version: 1,
      authenticators: { A: { ann: password, bob: password } },
      authorizers: { Z: { users: { ann: ['many'], bob: ['admin'] }, roles, groupMappings: {} } },
    }
    const test = (identity: string) =>
      administratorTest(settings, { identity, authenticator: 'A', groups: [] })(stored)
    assert.equal(await test('bob'), true)
    await assert.rejects(test('ann'), /The permissions were read/)
  })
})
