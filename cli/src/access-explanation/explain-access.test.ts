import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testClient } from '../testing/index.ts'
import { explainAccess } from './index.ts'

const authorization = '/proxy/coordinator/svc-ext/basic-security/authorization'
const request = { user: 'bob', method: 'GET', path: '/status', groups: [] }
const explainPath = (authorizer: string) =>
  `GET ${authorization}/db/${authorizer}/explain?user=bob&method=GET&path=%2Fstatus`
const answers = {
  [`GET ${authorization}/loadStatus`]: { Y: true, Z: true },
  [explainPath('Y')]: { authorizer: 'Z', because: 'Authorizer [Y] does not apply' },
  [explainPath('Z')]: { authorizer: 'Z', because: 'A role grants it' },
}

describe('the explanation of a request', () => {
  it('uses the authorizer of the user, unless another one is requested', async () => {
    const explain = (authorizer: string | undefined) =>
      explainAccess(testClient(answers), { ...request, authorizer })
    assert.equal((await explain(undefined)).because, 'A role grants it')
    assert.equal((await explain('Y')).because, 'Authorizer [Y] does not apply')
  })

  it('is an error if the cluster has no authorizer that stores roles', async () => {
    const client = testClient({ [`GET ${authorization}/loadStatus`]: {} })
    await assert.rejects(
      explainAccess(client, { ...request, authorizer: undefined }),
      /no authorizer that stores roles/,
    )
  })
})
