import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { loadUsersAndRoles, sql } from '@svc/shared/postgres'
import { basicHeader, createSecurity, mayAccess } from '@svc/shared/security'
import { createTestContext, createTestStores } from '@svc/shared/testing'
import { createFirstUsers } from './first-users.ts'

const properties = {
  'svc.auth.authenticatorChain': '["A"]',
  'svc.auth.authenticator.A.type': 'basic',
  'svc.auth.authenticator.A.authorizerName': 'Z',
  'svc.auth.authenticator.A.initialAdminPassword': 'first admin',
  'svc.auth.authenticator.A.initialInternalClientPassword': 'internal',
  'svc.auth.authorizers': '["Z"]',
  'svc.auth.authorizer.Z.type': 'basic',
  'svc.escalator.type': 'basic',
  'svc.escalator.internalClientPassword': 'internal',
}
const stores = await createTestStores({ after })
const context = await createTestContext({ after }, stores, 'coordinator', properties)
const { database } = stores

async function login(user: string, password: string) {
  const stored = await loadUsersAndRoles(database)
  const security = createSecurity(context.settings, { current: () => stored })
  const result = await security.authenticate(basicHeader(user, password), { address: '', server: '' })
  return result.kind === 'known' ? result.caller : undefined
}

describe('the initial users', () => {
  it('are the administrator and the internal user with all permissions', async () => {
    await Promise.all([createFirstUsers(context), createFirstUsers(context)])
    for (const [user, password] of [
      ['admin', 'first admin'],
      ['svc_system', 'internal'],
    ] as const) {
      const caller = await login(user, password)
      for (const type of [
        'DATASOURCE',
        'STATE',
        'CONFIG',
        'QUERY_CONTEXT',
        'SYSTEM_TABLE',
        'EXTERNAL',
        'VIEW',
      ] as const)
        for (const action of ['READ', 'WRITE'] as const)
          assert.equal(
            type === 'DATASOURCE'
              ? await mayAccess(caller!, 'any\nname', action)
              : caller?.can(action, type, 'any\nname'),
            true,
          )
    }
    assert.equal(await login('admin', 'internal'), undefined)
    const { authenticators, authorizers } = await loadUsersAndRoles(database)
    assert.deepEqual(Object.keys(authenticators.A ?? {}).sort(), ['admin', 'svc_system'])
    assert.deepEqual(Object.keys(authorizers.Z?.roles ?? {}).sort(), ['admin', 'svc_system'])
  })

  it('are not restored after they are deleted or changed', async () => {
    await database.query(sql`DELETE FROM authentication_users WHERE name = 'admin'`)
    await database.query(sql`DELETE FROM authorization_users WHERE name = 'admin'`)
    const before = await loadUsersAndRoles(database)
    await createFirstUsers(context)
    assert.deepEqual(await loadUsersAndRoles(database), before)
    assert.equal(await login('admin', 'first admin'), undefined)
  })

  it('are skipped with a warning if they have no password', async (scope) => {
    const bare = await createTestContext(scope, await createTestStores(scope), 'coordinator', {
      ...properties,
      'svc.auth.authenticator.A.initialAdminPassword': '',
    })
    await createFirstUsers(bare)
    const { authenticators } = await loadUsersAndRoles(bare.database)
    assert.deepEqual(Object.keys(authenticators.A ?? {}), ['svc_system'])
    const warned = bare.logger.lines.filter(({ level }) => level === 'warn')
    assert.deepEqual(
      warned.map(({ details }) => details),
      [{ authenticator: 'A', user: 'admin' }],
    )
  })

  for (const property of ['initialAdminPassword', 'initialInternalClientPassword']) {
    it(`are not created with an invalid password in ${property}`, async (scope) => {
      const testStores = await createTestStores(scope)
      const short = await createTestContext(scope, testStores, 'coordinator', {
        ...properties,
        [`svc.auth.authenticator.A.${property}`]: 'seven77',
      })
      await assert.rejects(createFirstUsers(short), {
        code: 'invalidInput',
        message: `Invalid value for [svc.auth.authenticator.A.${property}] ([7] characters): expected 8 to 1024 characters without control characters, and not only spaces.`,
      })
      const longer = await createTestContext(scope, testStores, 'coordinator', properties)
      await createFirstUsers(longer)
      const { authenticators } = await loadUsersAndRoles(testStores.database)
      assert.deepEqual(Object.keys(authenticators.A ?? {}).sort(), ['admin', 'svc_system'])
      await createFirstUsers(short)
    })
  }

  it('are not created with control characters in the password', async (scope) => {
    const eightNuls = await createTestContext(scope, await createTestStores(scope), 'coordinator', {
      ...properties,
      'svc.auth.authenticator.A.initialAdminPassword': '\0'.repeat(8),
    })
    await assert.rejects(createFirstUsers(eightNuls), {
      code: 'invalidInput',
      message: / \(\[8\] characters\): expected/,
    })
  })

  const initial = 'svc.auth.authorizer.Z'
  const rolesCases: readonly [name: string, properties: Record<string, string>, users: object][] = [
    ['without other properties', {}, { admin: ['admin'], svc_system: ['svc_system'] }],
    [
      'with another initialAdminRole',
      { [`${initial}.initialAdminRole`]: 'boss' },
      { admin: ['admin'], svc_system: ['svc_system'] },
    ],
    [
      'with initialAdminUser',
      { [`${initial}.initialAdminRole`]: 'boss', [`${initial}.initialAdminUser`]: 'ann' },
      { admin: ['admin'], svc_system: ['svc_system'], ann: ['boss'] },
    ],
    [
      'with the internal user as initialAdminUser',
      { [`${initial}.initialAdminRole`]: 'boss', [`${initial}.initialAdminUser`]: 'svc_system' },
      { admin: ['admin'], svc_system: ['svc_system'] },
    ],
    [
      'with initialAdminUser only',
      { [`${initial}.initialAdminUser`]: 'ann' },
      { admin: ['admin'], svc_system: ['svc_system'], ann: ['admin'] },
    ],
  ]
  for (const [name, more, users] of rolesCases) {
    it(`have only their own roles, ${name} and a group mapping`, async (scope) => {
      const mapped = await createTestContext(scope, await createTestStores(scope), 'coordinator', {
        ...properties,
        ...more,
        [`${initial}.initialAdminGroupMapping`]: 'cn=admins,dc=example',
      })
      await createFirstUsers(mapped)
      const { authorizers } = await loadUsersAndRoles(mapped.database)
      assert.deepEqual(authorizers.Z?.users, users)
      const role = more[`${initial}.initialAdminRole`] ?? 'admin'
      assert.deepEqual(authorizers.Z?.groupMappings, {
        adminGroupMapping: { groupPattern: 'cn=admins,dc=example', roles: [role] },
      })
      assert.equal(authorizers.Z?.roles[role]?.length, authorizers.Z?.roles.admin?.length)
    })
  }

  it('are not created if no login is required', async (scope) => {
    const open = await createTestContext(scope, await createTestStores(scope), 'coordinator')
    await createFirstUsers(open)
    assert.deepEqual(await loadUsersAndRoles(open.database), {
      version: 1,
      authenticators: {},
      authorizers: {},
    })
  })
})
