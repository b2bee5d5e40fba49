import type { AccessExplanation } from '@svc/domain/access'
import { invalidInput } from '@svc/domain/failure'
import type { LdapStep } from '@svc/shared/security'
import { type ClusterClient, unsupportedByDruid } from '../client/index.ts'

const authorization = '/proxy/coordinator/svc-ext/basic-security/authorization'

/** A user's request to explain. */
export interface ExplainedRequest {
  readonly user: string
  readonly method: string
  readonly path: string
  /** The authorizer that decides; undefined if the cluster has only one. */
  readonly authorizer: string | undefined
  /** The directory groups of the user. */
  readonly groups: readonly string[]
}

/** The coordinator's answer. */
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
  /** What was requested from directories, in order. */
  readonly directory?: readonly (LdapStep & { readonly authenticator: string })[]
  readonly because: string
}

/** Returns why a user may or may not make a request. Throws a Failure if the cluster rejects the call. */
export async function explainAccess(client: ClusterClient, request: ExplainedRequest): Promise<Explanation> {
  const { user, method, path, groups } = request
  if (client.interfaceName === 'druid') throw unsupportedByDruid(client.routerUrl)
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
  if (only === undefined)
    throw invalidInput('The cluster has no authorizer that stores roles, so there is nothing to explain')
  throw invalidInput(`Missing value for [--authorizer]: expected one of [${names.join(', ')}]`)
}
