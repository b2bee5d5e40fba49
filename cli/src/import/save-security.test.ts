import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Permission } from '@svc/domain/access'
import { securityOfHome } from './save-security.ts'

const permission = (name: string): Permission => ({ resource: { type: 'DATASOURCE', name }, action: 'READ' })

it('puts the users of all authenticators and authorizers into one of each, and keeps its own administrator', () => {
  const { logins, authorizer, keptOwn, duplicateRoles } = securityOfHome({
    authenticators: new Map([
      ['db', ['admin', 'alice']],
      ['ldap', ['alice', 'bob']],
    ]),
    authorizers: new Map([
      [
        'first',
        {
          roles: new Map([
            ['admin', [permission('nothing')]],
            ['readers', [permission('wiki')]],
          ]),
          users: new Map([
            ['admin', ['admin']],
            ['alice', ['readers']],
          ]),
          groupMappings: new Map([['ops', { groupPattern: '*', roles: ['readers'] }]]),
        },
      ],
      [
        'second',
        {
          roles: new Map([['readers', [permission('koalas')]]]),
          users: new Map([['alice', ['readers', 'others']]]),
          groupMappings: new Map([['ops', { groupPattern: 'CN=x', roles: [] }]]),
        },
      ],
    ]),
  })
  assert.deepEqual([...logins], ['alice', 'bob'])
  assert.deepEqual([...authorizer.roles], [['readers', [permission('wiki')]]])
  assert.deepEqual([...authorizer.users], [['alice', ['readers', 'others']]])
  assert.deepEqual([...authorizer.groupMappings], [['ops', { groupPattern: '*', roles: ['readers'] }]])
  assert.deepEqual([keptOwn, duplicateRoles], [['admin'], ['readers']])
})
