import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type DirectoryStep, directoryStepText } from './index.ts'

const bind = { action: 'bind', url: 'ldap://x', bindUser: 'cn=search' } as const
const search = { ...bind, action: 'searchUser', baseDn: 'ou=users', filter: '(uid=bob)' } as const

for (const [step, expected] of [
  [bind, 'Bind to ldap://x as [cn=search]: accepted'],
  [
    { ...bind, bindUser: 'uid=bob', action: 'checkPassword' },
    'Check the password: bind to ldap://x as [uid=bob]: accepted',
  ],
  [{ ...search, found: [] }, 'Search for the user in [ou=users] with (uid=bob): found no entries'],
  [
    { ...search, found: ['uid=bob'], memberOf: ['cn=analysts'] },
    'Search for the user in [ou=users] with (uid=bob): found [uid=bob], member of [cn=analysts]',
  ],
  [
    { ...search, action: 'searchGroups', error: 'No such object' },
    'Search for groups in [ou=users] with (uid=bob): failed: No such object',
  ],
  [{ ...search, isPending: true }, 'Search for the user in [ou=users] with (uid=bob): no response yet'],
  [
    { ...bind, error: 'No response within [5000] ms', isEarlier: true },
    'Earlier request: Bind to ldap://x as [cn=search]: failed: No response within [5000] ms',
  ],
] as const satisfies readonly (readonly [DirectoryStep, string])[])
  it(`describes a request to a directory: ${expected}`, () => assert.equal(directoryStepText(step), expected))
