import type { AccessExplanation, AuthenticatorStep } from '@svc/domain/access'
import { invalidInput } from '@svc/domain/failure'
import { type ClusterClient, unsupportedByDruid } from '../client/index.ts'

const authorization = '/proxy/coordinator/svc-ext/basic-security/authorization'

/** A user's request to explain. */
export interface ExplainedRequest {
  readonly user: string
  readonly method: string
  readonly path: string
  /** The authorizer that decides; undefined for the user's authorizer. */
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
  readonly directory?: readonly AuthenticatorStep[]
  readonly because: string
}

/** Returns why a user may or may not make a request. Throws a Failure if the cluster rejects the call. */
export async function explainAccess(client: ClusterClient, request: ExplainedRequest): Promise<Explanation> {
  const { user, method, path, groups } = request
  if (client.interfaceName === 'druid') throw unsupportedByDruid(client.routerUrl)
  const query = new URLSearchParams({ user, method, path })
  for (const group of groups) query.append('group', group)
  const explain = async (authorizer: string) =>
    (await client.send(
      'GET',
      `${authorization}/db/${encodeURIComponent(authorizer)}/explain?${query}`,
    )) as Explanation
  if (request.authorizer !== undefined) return await explain(request.authorizer)
  const first = await firstAuthorizer(client)
  const explanation = await explain(first)
  // Without this, the explanation would begin with the authorizer that does not apply, which nobody requested.
  return explanation.authorizer === first ? explanation : await explain(explanation.authorizer)
}

async function firstAuthorizer(client: ClusterClient): Promise<string> {
  const [first] = Object.keys((await client.send('GET', `${authorization}/loadStatus`)) as object)
  if (first === undefined)
    throw invalidInput('The cluster has no authorizer that stores roles, so there is nothing to explain')
  return first
}
