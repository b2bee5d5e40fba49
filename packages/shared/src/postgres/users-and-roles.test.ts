import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Permission } from '@svc/domain/access'
import { createTestStores, loadAudit, waitUntil } from '../testing/index.ts'
import {
  addAuthenticationUser,
  addAuthorizationUser,
  addGroupMapping,
  addRole,
  assignRole,
  changeSecurity,
  claimInitialization,
  loadUsersAndRoles,
  readUsersAndRoles,
  removeAuthenticationUser,
  removeAuthorizationUser,
  removeGroupMapping,
  removeRole,
  replaceCredentials,
  replacePermissions,
  saveAuthenticationUser,
  saveUserWithRole,
  securityChannel,
  type Transaction,
  unassignRole,
} from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores

const audit = { key: 'users', author: 'ann', comment: '', identity: 'admin', ip: '::1', payload: { what: 1 } }
const credentials = {
  algorithm: 'scrypt',
  cost: 2,
  blockSize: 1,
  parallelization: 1,
  salt: 'AA==',
  hash: 'AA==',
} as const
const permission: Permission = { resource: { type: 'STATE', name: '.*' }, action: 'READ' }
const change = (work: (transaction: Transaction) => Promise<unknown>) =>
  changeSecurity(database, audit, 0, async (transaction) => {
    await work(transaction)
  })

describe('users and roles in the store', () => {
  it('is empty at first', async () => {
    assert.deepEqual(await loadUsersAndRoles(database), {
      version: 1,
      authenticators: {},
      authorizers: {},
    })
  })

  it('has users, roles, and group mappings in order of creation, separately for each store', async () => {
    await change(async (transaction) => {
      await saveAuthenticationUser(transaction, 'A', 'zoe', credentials)
      assert.equal(await addAuthenticationUser(transaction, 'A', 'ann'), true)
      assert.equal(await addAuthenticationUser(transaction, 'A', 'ann'), false)
      await addAuthenticationUser(transaction, 'B', 'ann')
      await saveUserWithRole(transaction, 'Z', 'admin', 'admin', [permission])
      await addAuthorizationUser(transaction, 'Z', 'ann')
      await addRole(transaction, 'Z', 'reader')
      assert.equal(await addRole(transaction, 'Z', 'reader'), false)
      await addRole(transaction, 'Z', 'auditor')
      await addRole(transaction, 'Y', 'reader')
      for (const role of ['reader', 'auditor'])
        assert.equal(await assignRole(transaction, 'Z', 'user', 'ann', role), true)
      assert.equal(await assignRole(transaction, 'Z', 'user', 'ann', 'reader'), false)
      await addGroupMapping(transaction, 'Z', 'staff', '*,ou=staff')
      await assignRole(transaction, 'Z', 'mapping', 'staff', 'reader')
    })
    const stored = await loadUsersAndRoles(database)
    assert.equal(stored.version, 2)
    assert.deepEqual(stored.authenticators, { A: { zoe: credentials, ann: null }, B: { ann: null } })
    assert.deepEqual(Object.keys(stored.authenticators.A ?? {}), ['zoe', 'ann'])
    assert.deepEqual(stored.authorizers.Z, {
      users: { admin: ['admin'], ann: ['reader', 'auditor'] },
      roles: { admin: [permission], reader: [], auditor: [] },
      groupMappings: { staff: { groupPattern: '*,ou=staff', roles: ['reader'] } },
    })
    assert.deepEqual(stored.authorizers.Y, { users: {}, roles: { reader: [] }, groupMappings: {} })
  })

  it('shows every change and its consequences', async () => {
    await change(async (transaction) => {
      assert.equal(await replaceCredentials(transaction, 'A', 'ann', credentials), true)
      assert.equal(await replaceCredentials(transaction, 'A', 'nobody', credentials), false)
      assert.equal(await replacePermissions(transaction, 'Z', 'auditor', [permission]), true)
      assert.equal(await replacePermissions(transaction, 'Z', 'nothing', []), false)
      assert.equal(await unassignRole(transaction, 'Z', 'user', 'ann', 'auditor'), true)
      assert.equal(await unassignRole(transaction, 'Z', 'user', 'ann', 'auditor'), false)
      assert.equal(await unassignRole(transaction, 'Z', 'mapping', 'staff', 'admin'), false)
    })
    const changed = await loadUsersAndRoles(database)
    assert.deepEqual(changed.authenticators.A?.ann, credentials)
    assert.deepEqual(changed.authorizers.Z?.users.ann, ['reader'])
    assert.deepEqual(changed.authorizers.Z?.roles.auditor, [permission])
    await change((transaction) => removeRole(transaction, 'Z', 'reader'))
    const without = await loadUsersAndRoles(database)
    assert.deepEqual(without.authorizers.Z?.users.ann, [])
    assert.deepEqual(without.authorizers.Z?.groupMappings.staff?.roles, [])
    await change((transaction) => addRole(transaction, 'Z', 'reader'))
    assert.deepEqual((await loadUsersAndRoles(database)).authorizers.Z?.users.ann, [], 'not assigned again')
    await change(async (transaction) => {
      assert.equal(await removeAuthorizationUser(transaction, 'Z', 'ann'), true)
      assert.equal(await removeAuthorizationUser(transaction, 'Z', 'ann'), false)
      assert.equal(await removeAuthenticationUser(transaction, 'A', 'ann'), true)
      assert.equal(await removeGroupMapping(transaction, 'Z', 'staff'), true)
    })
    const last = await loadUsersAndRoles(database)
    assert.deepEqual(Object.keys(last.authenticators.A ?? {}), ['zoe'])
    assert.deepEqual(Object.keys(last.authorizers.Z?.users ?? {}), ['admin'])
    assert.deepEqual(last.authorizers.Z?.groupMappings, {})
  })

  it('supports names with a special meaning in JavaScript', async () => {
    await change(async (transaction) => {
      for (const name of ['__proto__', 'constructor']) {
        await saveAuthenticationUser(transaction, name, name, credentials)
        await saveUserWithRole(transaction, name, name, name, [permission])
      }
    })
    // As sent to the other servers.
    const loaded = JSON.parse(JSON.stringify(await loadUsersAndRoles(database)))
    for (const name of ['__proto__', 'constructor']) {
      assert.ok(Object.hasOwn(loaded.authenticators, name))
      assert.ok(Object.hasOwn(Object.getOwnPropertyDescriptor(loaded.authenticators, name)?.value, name))
      assert.ok(Object.hasOwn(loaded.authorizers, name))
    }
  })
})

describe('a change', () => {
  it('is audited and announced only if it commits', async () => {
    let notifications = 0
    await database.listen(securityChannel, () => notifications++)
    const before = await loadUsersAndRoles(database)
    const auditBefore = (await loadAudit(database, { type: 'security' })).length
    await assert.rejects(
      change(async (transaction) => {
        await addRole(transaction, 'Z', 'never')
        throw new Error('changed my mind')
      }),
      { message: 'changed my mind' },
    )
    assert.deepEqual(await loadUsersAndRoles(database), before)
    await change((transaction) => addRole(transaction, 'Z', 'new'))
    await waitUntil('the notification', () => notifications > 0)
    assert.equal(notifications, 1)
    assert.equal((await loadUsersAndRoles(database)).version, before.version + 1)
    const entries = await loadAudit(database, { type: 'security' })
    assert.equal(entries.length, auditBefore + 1)
    assert.equal(entries.at(-1)?.payload, '{"what":1}')
  })

  it('sees its own changes immediately, and others see them after the commit', async () => {
    await change(async (transaction) => {
      await addRole(transaction, 'Z', 'half')
      assert.ok((await readUsersAndRoles(transaction)).authorizers.Z?.roles.half)
      assert.equal((await loadUsersAndRoles(database)).authorizers.Z?.roles.half, undefined)
    })
    assert.ok((await loadUsersAndRoles(database)).authorizers.Z?.roles.half)
  })

  it('runs one at a time in the entire cluster', async () => {
    const many = stores.connect(6)
    let within = 0
    let max = 0
    await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        changeSecurity(many, audit, 0, async (transaction) => {
          within += 1
          max = Math.max(max, within)
          await addRole(transaction, 'Z', `role${index}`)
          within -= 1
        }),
      ),
    )
    assert.equal(max, 1)
  })

  it('that initializes a store happens once', async () => {
    const claim = () =>
      database.transaction((transaction) => claimInitialization(transaction, 'authorizer', 'X'))
    assert.deepEqual((await Promise.all([claim(), claim(), claim()])).sort(), [false, false, true])
    assert.equal(await claim(), false)
  })
})
