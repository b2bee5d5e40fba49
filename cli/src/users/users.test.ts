import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { invalidInput } from '@svc/domain/failure'
import { testClient } from '../testing/index.ts'
import { openUserStore } from './index.ts'

const base = '/proxy/coordinator/svc-ext/basic-security'
const logins = `${base}/authentication/db/logins/users`
const accounts = `${base}/authorization/db/roles/users`
const stores = {
  [`GET ${base}/authentication/loadStatus`]: { logins: true },
  [`GET ${base}/authorization/loadStatus`]: { roles: true },
}
const missing = invalidInput('User [me] does not exist')

describe('the users of a cluster', () => {
  it('are those with a login or with roles', async () => {
    const store = await openUserStore(
      testClient({
        ...stores,
        [`GET ${logins}`]: ['me'],
        [`GET ${accounts}`]: ['alice', 'me'],
        [`GET ${logins}/me`]: { name: 'me', credentials: { algorithm: 'x' } },
        [`GET ${accounts}/me`]: { name: 'me', roles: ['admin'] },
        [`GET ${accounts}/alice`]: { name: 'alice', roles: [] },
        [`GET ${logins}/alice`]: invalidInput('User [alice] does not exist'),
      }),
    )
    assert.deepEqual(await store.list(), [
      { user: 'alice', hasPassword: false, roles: [] },
      { user: 'me', hasPassword: true, roles: ['admin'] },
    ])
  })

  it('are created with a password and roles', async () => {
    const client = testClient({
      ...stores,
      [`POST ${logins}/me`]: undefined,
      [`POST ${accounts}/me`]: undefined,
      [`POST ${logins}/me/credentials`]: undefined,
      [`POST ${accounts}/me/roles/readers`]: undefined,
    })
    const store = await openUserStore(client)
    await store.create('me', { password: 'secret', roles: ['readers'] })
    assert.deepEqual(client.sent.slice(2), [
      `POST ${logins}/me`,
      `POST ${accounts}/me`,
      `POST ${logins}/me/credentials {"password":"secret"}`,
      `POST ${accounts}/me/roles/readers`,
    ])
  })

  it('are not left half created if a role does not exist', async () => {
    const client = testClient({
      ...stores,
      [`POST ${logins}/me`]: undefined,
      [`POST ${accounts}/me`]: undefined,
      [`POST ${accounts}/me/roles/nosuch`]: invalidInput('Role [nosuch] does not exist'),
      [`DELETE ${accounts}/me`]: undefined,
      [`DELETE ${logins}/me`]: undefined,
    })
    const store = await openUserStore(client)
    await assert.rejects(store.create('me', { roles: ['nosuch'] }), /Role \[nosuch\] does not exist/)
    assert.deepEqual(client.sent.slice(-2), [`DELETE ${accounts}/me`, `DELETE ${logins}/me`])
  })

  it('can be removed if only one store has them, but not if none has', async () => {
    const one = { ...stores, [`DELETE ${accounts}/me`]: undefined, [`DELETE ${logins}/me`]: missing }
    await (await openUserStore(testClient(one))).remove('me')
    const none = await openUserStore(testClient({ ...one, [`DELETE ${accounts}/me`]: missing }))
    await assert.rejects(none.remove('me'), { code: 'notFound', message: /^User \[me\] does not exist/ })
  })

  it('need the name of the store if there are several, and are nowhere if there is none', async () => {
    const several = {
      ...stores,
      [`GET ${base}/authorization/loadStatus`]: { a: true, b: true },
      [`GET ${base}/authorization/db/a/users`]: ['admin'],
      [`GET ${base}/authorization/db/b/users`]: ['admin'],
    }
    await assert.rejects(openUserStore(testClient(several)), {
      code: 'invalidInput',
      message: 'Missing value for [--authorizer]: expected one of [a, b]',
    })
    assert.ok(await openUserStore(testClient(several), { authorizer: 'a' }))
    // Such as the one of a directory.
    const empty = { ...several, [`GET ${base}/authorization/db/b/users`]: [] }
    const client = testClient(empty)
    await (await openUserStore(client)).addRole('me', 'readers').catch(() => undefined)
    assert.equal(client.sent.at(-1), `POST ${base}/authorization/db/a/users/me/roles/readers`)
    const none = { ...stores, [`GET ${base}/authentication/loadStatus`]: {} }
    await assert.rejects(openUserStore(testClient(none)), { code: 'notFound' })
  })
})
