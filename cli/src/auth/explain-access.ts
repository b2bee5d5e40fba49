import type { AccessExplanation } from '@svc/domain/access'
import { invalidInput } from '@svc/domain/failure'
import type { ClusterClient } from '../client/index.ts'

const authorization = '/proxy/coordinator/svc-ext/basic-security/authorization'

/** A request of a user, that is to be explained. */
export interface ExplainedRequest {
  readonly user: string
  readonly method: string
  readonly path: string
  /** The authorizer that decides; undefined for the only one of the cluster. */
  readonly authorizer: string | undefined
  /** The groups of the user in a directory. */
  readonly groups: readonly string[]
}

/** The answer of the coordinator. */
export interface Explanation extends Omit<AccessExplanation, 'mappings'> {
  readonly user: string
  readonly method: string
  readonly path: string
  readonly authorizer: string
  readonly endpoint: string
  readonly authenticators: readonly {
    readonly name: string
    readonly knows: string
    readonly usesThisAuthorizer: boolean
  }[]
  readonly because: string
}

/** Asks why a user may or may not do something. Throws a Failure where the cluster refuses the question. */
export async function explainAccess(client: ClusterClient, request: ExplainedRequest): Promise<Explanation> {
  const { user, method, path, groups } = request
  const authorizer = request.authorizer ?? (await onlyAuthorizer(client))
  const query = new URLSearchParams({ user, method, path })
  for (const group of groups) query.append('group', group)
  return (await client.send(
    'GET',
    `${authorization}/db/${encodeURIComponent(authorizer)}/explain?${query}`,
  )) as Explanation
}

async function onlyAuthorizer(client: ClusterClient): Promise<string> {
  const names = Object.keys((await client.send('GET', `${authorization}/loadStatus`)) as object)
  const [only, ...others] = names
  if (only !== undefined && others.length === 0) return only
  throw invalidInput(`The cluster has the authorizers [${names.join(', ')}]: name one with --authorizer`)
}
