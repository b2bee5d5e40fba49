import type { Permission } from '@svc/domain/access'
import { waitUntil } from '@svc/shared/testing'
import type { TestCluster } from './test-cluster.ts'

const authentication = '/svc-ext/basic-security/authentication/db/MyBasicMetadataAuthenticator'
const authorization = '/svc-ext/basic-security/authorization/db/MyBasicMetadataAuthorizer'

/** The password of all users that tests add. */
const password = 'a-password-of-tests'

/** The credentials of a user that a test has added. */
export const credentialsOf = (name: string): string => `${name}:${password}`

/** Adds users with their permissions to a secure cluster, and returns once every service knows them. */
export async function addUsers(
  cluster: TestCluster,
  users: Readonly<Record<string, readonly Permission[]>>,
): Promise<void> {
  const { post } = cluster.at('coordinator')
  for (const [name, permissions] of Object.entries(users)) {
    await post(`${authentication}/users/${name}`, undefined)
    await post(`${authentication}/users/${name}/credentials`, { password })
    await post(`${authorization}/users/${name}`, undefined)
    await post(`${authorization}/roles/${name}`, undefined)
    await post(`${authorization}/roles/${name}/permissions`, permissions)
    await post(`${authorization}/users/${name}/roles/${name}`, undefined)
  }
  const last = Object.keys(users).at(-1)!
  for (const { instance } of cluster.plan.services) {
    await waitUntil(
      `${instance} knows the user ${last}`,
      () => cluster.at(instance).send({ path: '/nosuch', credentials: credentialsOf(last) }),
      ({ status }) => status === 404,
    )
  }
}
