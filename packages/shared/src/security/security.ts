import { timingSafeEqual } from 'node:crypto'
import { type LoginFailure, loginFailure } from '@svc/domain/access'
import { allowsAnonymous, internalNetworks, requiresLogin, type Settings } from '../config/index.ts'
import { type LoginThrottle, noThrottle } from '../login-throttle/index.ts'
import { basicHeader, readBasicHeader } from './basic-header.ts'
import { anonymousCaller, type Caller, createCallerCache, unrestricted } from './caller.ts'
import { loginChain } from './chain.ts'
import { createChainLogins } from './chain-logins.ts'
import { createEscalator, type Escalator } from './escalator.ts'
import { createKnownSources } from './known-sources.ts'
import type { LdapLogins } from './ldap-logins.ts'
import { lengthFailure } from './length-failure.ts'
import { createLoginAttempts } from './login-attempts.ts'
import type { Authentication, Login, LoginOrigin, OnRefused } from './login-types.ts'
import { createMetadataLogins, type OnOutdated } from './metadata-logins.ts'
import { unsecuredPaths } from './unsecured-paths.ts'
import { hasUser, type UsersAndRoles, type UsersSource } from './users-and-roles.ts'

/** Authenticates callers. */
export interface Security {
  readonly anonymousCaller: Caller
  authenticate(authorizationHeader: string | undefined, origin: LoginOrigin): Promise<Authentication>
  /** Returns whether the caller is the internal user; always true if everything is allowed. */
  isInternal(caller: Caller): boolean
  /** Returns the caller for a path that requires neither login nor permission; undefined for all other paths. */
  unsecured(path: string): Caller | undefined
  /** Whether OPTIONS requires no login. */
  readonly openOptions: boolean
}

/** Options of `createSecurity`. */
export interface SecurityOptions {
  readonly onRefused?: OnRefused
  /** Called for newly verified logins, not for cached ones. */
  readonly onLogin?: (caller: Caller, origin: LoginOrigin) => void
  /** Called for every request with a cached login, so it must be cheap. */
  readonly onUse?: (caller: Caller, origin: LoginOrigin) => void
  readonly onOutdated?: OnOutdated
  /** The identity of this server in calls to other servers; taken from the settings by default. */
  readonly escalator?: Pick<Escalator, 'header'>
  readonly throttle?: LoginThrottle
  /** The directories of authenticators with an `ldap` validator, by authenticator. */
  readonly directories?: ReadonlyMap<string, LdapLogins>
}

/**
 * Creates the configured security: a chain of authenticators, queried in order, and the authorizers. Verified
 * credentials are cached until the stored hash changes; those of a directory for the configured time.
 */
export function createSecurity(
  settings: Settings,
  users: UsersSource,
  options: SecurityOptions = {},
): Security {
  const { onRefused = () => undefined, onLogin, onUse, directories = new Map() } = options
  const chain = settings.get('svc.auth.authenticatorChain')
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  const open = new Set(chain.filter((name) => allowsAnonymous(settings, name)))
  const isOpen = !requiresLogin(settings)
  const callers = createCallerCache(settings)
  const allowsInternal = internalNetworks(settings)
  const openPaths = unsecuredPaths(settings)
  const metadata = createMetadataLogins(options.onOutdated)
  const logins = createChainLogins(loginChain(settings), metadata, directories, callers)
  const sources = createKnownSources()
  const knownName = (user: string, current: UsersAndRoles) =>
    user === internalUser || hasUser(current, user) ? user : foundName(directories, user)
  const attempts = createLoginAttempts({
    logins,
    throttle: options.throttle ?? noThrottle,
    isOwnEscalator: escalatorCheck(options.escalator ?? createEscalator(settings)),
    knownName,
    onRefused,
    onVerified: ({ user }, origin, caller) => {
      sources.add(user, origin.address)
      onLogin?.(caller, origin)
    },
  })

  const withoutLogin = withoutLoginBy(open, callers)

  async function authenticate(header: string | undefined, origin: LoginOrigin): Promise<Authentication> {
    const [first] = chain
    if (first === 'allowAll') return { kind: 'known', caller: unrestricted(first, first) }
    const login = readBasicHeader(header)
    if (!login && open.size === 0) return { kind: 'refused', failure: noCredentials }
    const current = users.current()
    if ('missing' in current) return notLoaded(current.missing)
    if (!login || (first !== undefined && open.has(first))) return withoutLogin(current)
    const tooLong = lengthFailure(login)
    if (tooLong) onRefused(login.user, origin, tooLong, knownName(login.user, current))
    if (tooLong) return await withoutLogin(current, tooLong)
    // From a new address, a cached password may be a guess, so it counts as an attempt.
    const isKnownSource = sources.has(login.user, origin.address)
    const known = isKnownSource ? await logins.remembered(login, current) : undefined
    const outcome: Authentication = known
      ? { kind: 'known', caller: known }
      : ((await attempts.verify(login, origin, current)) ?? (await withoutLogin(current)))
    const isInternalUser = outcome.kind === 'known' && outcome.caller.identity === internalUser
    if (isInternalUser && ![origin.peer ?? origin.address, origin.address].every(allowsInternal)) {
      const failure = forbiddenNetwork(internalUser, origin)
      onRefused(login.user, origin, failure, internalUser)
      return { kind: 'refused', failure }
    }
    if (known) onUse?.(known, origin)
    return outcome
  }

  return {
    anonymousCaller,
    authenticate,
    isInternal: (caller) =>
      caller.authenticator !== '' &&
      (isOpen || (!open.has(caller.authenticator) && caller.identity === internalUser)),
    unsecured: (path) => (openPaths(path) ? unsecuredCaller : undefined),
    openOptions: settings.get('svc.auth.allowUnauthenticatedHttpOptions'),
  }
}

/** Returns the result for a request without credentials: accepted if an authenticator accepts everyone. */
const withoutLoginBy =
  (open: ReadonlySet<string>, callers: ReturnType<typeof createCallerCache>) =>
  async (current: UsersAndRoles, failure = noCredentials): Promise<Authentication> => {
    const [name] = open
    if (name === undefined) return { kind: 'refused', failure }
    // The identity is the name of the authenticator, and its authorizer decides as usual.
    return { kind: 'known', caller: await callers(name, name, [], current) }
  }

const noCredentials = loginFailure(
  'NO_CREDENTIALS',
  'The request had no readable credentials: its Authorization header was missing, did not use the Basic scheme, or had an empty user name or password',
)

const notLoaded = (message: string): Authentication => ({
  kind: 'unavailable',
  message,
  failure: loginFailure('USERS_NOT_LOADED', message),
})

const forbiddenNetwork = (user: string, { address }: LoginOrigin): LoginFailure =>
  loginFailure(
    'FORBIDDEN_NETWORK',
    `The internal user [${user}] logged in from [${address}], and [svc.auth.internalClientAllowedNetworks] does not include the address of the caller or of a router in between`,
  )

// As in Druid 37, a path that requires no login requires no permission either. Its caller is never internal.
const unsecuredCaller: Caller = unrestricted('anonymous', '')

/** Returns the user that a directory has found for a typed name before. */
function foundName(directories: ReadonlyMap<string, LdapLogins>, typed: string): string | undefined {
  for (const logins of directories.values()) {
    const identity = logins.foundAs(typed)
    if (identity !== undefined) return identity
  }
  return undefined
}

/** Returns a test for whether a login is the one of the escalator of this server. */
function escalatorCheck(escalator: Pick<Escalator, 'header'>): (login: Login) => boolean {
  return ({ user, password }) => {
    const own = escalator.header()
    if (own === undefined || !user.isWellFormed() || !password.isWellFormed()) return false
    const [expected, given] = [Buffer.from(own), Buffer.from(basicHeader(user, password))]
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
}
