import {
  type ChainOutcome,
  explainAccess,
  type LoginChain,
  type LoginVerdict,
  walkChainNow,
} from '@svc/domain/access'
import type { Access } from '@svc/shared/http'
import { compileNamePattern } from '@svc/shared/security'
import { listOf, type Server, secretOf, textOf } from './configuration.ts'
import { authorizerRolesOf, type KnownUsers } from './known-users.ts'
import {
  acceptsEveryone,
  allowsEverything,
  authorizersOf,
  authorizerTypeOf,
  chainOf,
  hasInvalidChain,
  initialPasswordOf,
} from './logins.ts'
import type { ServerRole } from './servers-of-roles.ts'
import { groupFiltersOf, isOwnAuthenticator, type Subject, storesUser } from './subjects.ts'

/** An endpoint, as Druid's paths name it. */
export interface Endpoint {
  readonly role: ServerRole
  readonly method: string
  readonly path: string
  readonly access: Access
}

/** `refused`: the login fails, 401. `forbidden`: a permission is missing, 403. */
export type Decision = 'open' | 'allowed' | 'forbidden' | 'refused'

/** Stands for any datasource. */
const someDatasource = 'datasource'

/** Decides whether a subject may use an endpoint of a server. */
export function decideAccess(
  server: Server,
  subject: Subject,
  endpoint: Endpoint,
  known: KnownUsers,
): Decision {
  const { access, path } = endpoint
  if (access.kind === 'open' || isUnsecured(server, path)) return 'open'
  if (hasInvalidChain(server)) return 'refused'
  if (chainOf(server).length === 0) return 'open'
  const login = loginOf(server, subject, known)
  if (login.kind === 'everyone') {
    const anonymous = anonymousLoginOf(server, login.authenticator)
    return anonymous === undefined || isPermitted(server, anonymous, access, known) ? 'open' : 'forbidden'
  }
  if (login.kind !== 'known') return 'refused'
  if (access.kind === 'internal') return subject.kind === 'servers' ? 'allowed' : 'forbidden'
  const { authenticator, groups } = login
  return isPermitted(server, { authenticator, user: subject.user, groups }, access, known)
    ? 'allowed'
    : 'forbidden'
}

/** A login that an authenticator accepted. */
interface AcceptedLogin {
  readonly authenticator: string
  readonly user: string
  readonly groups: readonly string[]
}

/** The user that callers without a login are for an authenticator; undefined if they may do everything. */
function anonymousLoginOf(server: Server, authenticator: string): AcceptedLogin | undefined {
  const prefix = `druid.auth.authenticator.${authenticator}`
  if (textOf(server, `${prefix}.type`) !== 'anonymous') return undefined
  return { authenticator, user: textOf(server, `${prefix}.identity`) ?? 'defaultUser', groups: [] }
}

/** Returns whether the authorizer of a login permits a request that is not open. */
function isPermitted(
  server: Server,
  { authenticator, user, groups }: AcceptedLogin,
  access: Access,
  known: KnownUsers,
): boolean {
  if (access.kind === 'open' || access.kind === 'authenticated') return true
  if (access.kind === 'internal') return false
  if (allowsEverything(server)) return true
  const authorizer = chainOf(server).find(({ name }) => name === authenticator)?.authorizer
  if (authorizer === undefined || !authorizersOf(server).includes(authorizer)) return false
  if (authorizerTypeOf(server, authorizer) === 'allowAll') return true
  const { allowed } = explainAccess(
    authorizerRolesOf(server, authorizer, known),
    { user, groups, groupFilters: groupFiltersOf(server, authorizer) },
    {
      type: access.type,
      action: access.action,
      name: 'name' in access ? access.name : someDatasource,
    },
    compileNamePattern,
    { compatibility: true },
  )
  return allowed === true
}

function isUnsecured(server: Server, path: string): boolean {
  const patterns = listOf(server, 'druid.auth.unsecuredPaths') ?? []
  return patterns.some((pattern) => {
    const prefix = pattern.replace(/\/\*$/, '')
    return path === prefix || (prefix !== pattern && path.startsWith(`${prefix}/`))
  })
}

/** Returns the answer of the authenticator chain to a login of a subject with the correct password. */
export function loginOf(server: Server, subject: Subject, known: KnownUsers): ChainOutcome {
  const chain = chainOf(server)
  // A request without a login passes all authenticators that need one.
  const everyone = chain.find(acceptsEveryone)
  if (subject.kind === 'nobody')
    return everyone ? { kind: 'everyone', authenticator: everyone.name } : { kind: 'unknown' }
  const last = chain.findIndex((one) => acceptsEveryone(one) || (one.type === 'basic' && !one.skipsUnknown))
  const members = (last === -1 ? chain : chain.slice(0, last + 1)).flatMap((one): LoginChain['members'] => {
    if (acceptsEveryone(one)) return [{ name: one.name, users: 'everyone' }]
    return one.users === undefined ? [] : [{ name: one.name, users: one.users }]
  })
  const outcome = walkChainNow(
    { members, internalUser: textOf(server, 'druid.escalator.internalClientUsername') ?? '' },
    (authenticator, user) => hasLogin(server, subject, authenticator, user, known),
    subject.user,
    ({ authenticator }) => verdictOf(server, subject, authenticator),
  )
  return outcome ?? { kind: 'unknown' }
}

/** A user with a password at an authenticator is stored there, even if no file names the user. */
const hasLogin = (
  server: Server,
  subject: Subject,
  authenticator: string,
  user: string,
  known: KnownUsers,
): boolean =>
  chainOf(server).some((one) => one.name === authenticator && isOwnAuthenticator(subject, one)) ||
  storesUser(server, authenticator, user, known)

function verdictOf(server: Server, subject: Subject, authenticator: string): LoginVerdict {
  const known: LoginVerdict = { kind: 'known', identity: subject.user, groups: subject.groups }
  const member = chainOf(server).find(({ name }) => name === authenticator)
  const isDirectory = member?.users === 'directory'
  if (subject.kind === 'servers') {
    const prefix = `druid.auth.authenticator.${authenticator}`
    const initial = secretOf(server, initialPasswordOf({ prefix }, subject.user))
    const used = secretOf(server, 'druid.escalator.internalClientPassword')
    if (textOf(server, 'druid.escalator.type') !== 'basic') return { kind: 'unknown' }
    return isDirectory || !initial || !used || initial.isEqual(used) ? known : { kind: 'wrong' }
  }
  if (member && isOwnAuthenticator(subject, member)) return known
  return isDirectory ? { kind: 'unknown' } : { kind: 'wrong' }
}
