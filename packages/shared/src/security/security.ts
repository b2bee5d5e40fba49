import { timingSafeEqual } from 'node:crypto'
import { hasControlCharacter } from '@svc/domain/validation'
import { allowsAnonymous, internalNetworks, requiresLogin, type Settings } from '../config/index.ts'
import { basicHeader, readBasicHeader } from './basic-header.ts'
import { anonymousCaller, type Caller, createCallerCache, unrestricted } from './caller.ts'
import { hiddenUserTest, reachableAuthenticators } from './chain.ts'
import { countedName } from './counted-name.ts'
import { createEscalator, type Escalator } from './escalator.ts'
import { createKnownSources } from './known-sources.ts'
import type { CountAttempt, LdapLogins } from './ldap-logins.ts'
import { digestOf } from './login-digest.ts'
import { createMetadataLogins, type OnOutdated } from './metadata-logins.ts'
import { type LoginAttempt, type LoginThrottle, noThrottle } from './throttle.ts'
import {
  type DirectorySource,
  hasUser,
  type SecurityDirectory,
  storedCredentials,
} from './users-and-roles.ts'

/** The origin of a login, and the server that it claims to be, for the log. */
export interface LoginOrigin {
  /** The address of the caller, even if a router forwarded the request. */
  readonly address: string
  /** The remote address of the connection, which may be that of a router. */
  readonly peer?: string
  readonly server: string
}

export type Authentication =
  | { readonly kind: 'known'; readonly caller: Caller }
  | { readonly kind: 'refused' }
  | { readonly kind: 'throttled'; readonly retryAfterSeconds: number }
  | { readonly kind: 'unavailable'; readonly message: string }

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

/** Invalid credentials; too many failed logins; a network that the internal user may not use. */
export type RefusalReason = 'login' | 'throttle' | 'network'

/** Options of `createSecurity`. */
export interface SecurityOptions {
  /**
   * Called for every rejected login; `server` of the origin is empty if no server of the cluster sent it. `knownAs` is
   * the user name that the store or a directory has for the typed name, if any.
   */
  readonly onRefused?: (
    user: string,
    origin: LoginOrigin,
    reason: RefusalReason,
    knownAs: string | undefined,
  ) => void
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

interface Login {
  readonly user: string
  readonly password: string
}

/** The result of one authenticator for a login. */
type Verdict =
  | { readonly kind: 'known'; readonly identity: string; readonly groups: readonly string[] }
  | { readonly kind: 'wrong'; readonly identity?: string }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'throttled'; readonly retryAfterSeconds: number; readonly identity?: string }
  | { readonly kind: 'unavailable'; readonly message: string }

/** The result of the chain for a login, and the user it is about, if known. */
interface Outcome {
  readonly result: Authentication
  readonly knownAs?: string | undefined
}

/**
 * Creates the configured security: a chain of authenticators, queried in order, and the authorizers. Verified
 * credentials are cached until the stored hash changes; those of a directory for the configured time.
 */
export function createSecurity(
  settings: Settings,
  directory: DirectorySource,
  {
    onRefused = () => undefined,
    onLogin = () => undefined,
    onUse = () => undefined,
    onOutdated,
    escalator = createEscalator(settings),
    throttle = noThrottle,
    directories = new Map(),
  }: SecurityOptions = {},
): Security {
  const chain = settings.get('svc.auth.authenticatorChain')
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  // Read once, because every request needs it.
  const open = new Set(chain.filter((name) => allowsAnonymous(settings, name)))
  const reachable = reachableAuthenticators(settings)
  const allowsEveryone = (name: string) => open.has(name)
  const isOpen = !requiresLogin(settings)
  const metadata = createMetadataLogins(onOutdated)
  const callers = createCallerCache(settings)
  const allowsInternal = internalNetworks(settings)
  const isOwnEscalator = escalatorCheck(escalator)
  const isHidden = hiddenUserTest(settings)
  const digest = digestOf()
  const inProgress = new Map<string, Promise<Authentication>>()
  const sources = createKnownSources()

  /**
   * Returns the earlier directories, which were queried for the typed name instead of the identity, if these differ.
   */
  const otherDirectories = (name: string, identity: string, typed: string): LdapLogins[] =>
    identity === typed
      ? []
      : reachable.slice(0, reachable.indexOf(name)).flatMap((member) => directories.get(member) ?? [])

  /** Returns the cached caller for a login; undefined if it must be verified. */
  function remembered(login: Login, current: SecurityDirectory): Caller | undefined {
    const { user, password } = login
    for (const name of reachable) {
      if (allowsEveryone(name)) return undefined
      const logins = directories.get(name)
      if (logins) {
        if (user === internalUser && isHidden(name, user, current)) continue
        const verdict = logins.remembered(user, password)
        if (verdict?.kind === 'known') {
          const { identity, groups } = verdict
          const isFree =
            !isHidden(name, identity, current) &&
            otherDirectories(name, identity, user).every(
              (other) => other.remembered(identity, password)?.kind === 'unknown',
            )
          return isFree ? callers(name, identity, groups, current) : undefined
        }
        if (verdict?.kind !== 'unknown') return undefined
      } else {
        const stored = storedCredentials(current, name, user)
        if (stored) {
          return metadata.isRemembered(name, user, password, stored)
            ? callers(name, user, [], current)
            : undefined
        }
      }
    }
    return undefined
  }

  async function verifyInDirectory(
    name: string,
    login: Login,
    current: SecurityDirectory,
    isTaken: boolean,
    countAttempt: CountAttempt,
  ): Promise<Verdict> {
    const { user, password } = login
    const logins = directories.get(name)
    if (logins) {
      return isTaken ? { kind: 'unknown' } : await searchDirectory(name, logins, login, current, countAttempt)
    }
    const stored = isTaken ? undefined : storedCredentials(current, name, user)
    if (!stored) return { kind: 'unknown' }
    return (await metadata.verify(name, user, password, stored))
      ? { kind: 'known', identity: user, groups: [] }
      : { kind: 'wrong', identity: user }
  }

  async function searchDirectory(
    name: string,
    logins: LdapLogins,
    { user, password }: Login,
    current: SecurityDirectory,
    countAttempt: CountAttempt,
  ): Promise<Verdict> {
    // Never send the password of the internal user to a directory.
    if (user === internalUser && isHidden(name, user, current)) return { kind: 'unknown' }
    const verdict = await logins.verify(user, password, countAttempt)
    if (verdict.kind !== 'known') return verdict
    const { identity } = verdict
    if (isHidden(name, identity, current)) return { kind: 'wrong', identity }
    for (const other of otherDirectories(name, identity, user)) {
      const { kind } = await other.verify(identity, password, countAttempt)
      if (kind === 'known' || kind === 'wrong') return { kind: 'wrong', identity }
    }
    return verdict
  }

  /** Verifies a login with the chain. Returns undefined if an authenticator that accepts everyone is reached. */
  async function verify(
    login: Login,
    current: SecurityDirectory,
    countAttempt: CountAttempt,
  ): Promise<Outcome | undefined> {
    // Never look up a name with control characters: directories may ignore them and find another user.
    let isTaken = hasControlCharacter(login.user)
    let knownAs: string | undefined
    let missing: string | undefined
    const withoutWork: string[] = []
    for (const name of reachable) {
      if (allowsEveryone(name)) {
        if (isTaken || missing !== undefined) break
        return undefined
      }
      const verdict = await verifyInDirectory(name, login, current, isTaken, countAttempt)
      if (verdict.kind === 'unknown' && !directories.has(name)) withoutWork.push(name)
      if (verdict.kind === 'throttled') {
        const { kind, retryAfterSeconds, identity } = verdict
        return { result: { kind, retryAfterSeconds }, knownAs: knownAs ?? identity }
      }
      if (verdict.kind === 'known' && !isTaken) {
        return { result: { kind: 'known', caller: callers(name, verdict.identity, verdict.groups, current) } }
      }
      // A user that is known here is not looked up further: it hides users with the same name in later authenticators.
      isTaken ||= verdict.kind === 'wrong'
      if (verdict.kind === 'wrong') knownAs ??= verdict.identity
      if (verdict.kind === 'unavailable') missing ??= verdict.message
    }
    if (missing !== undefined) return { result: { kind: 'unavailable', message: missing } }
    // A rejection costs the same work for known and unknown users, so that its duration does not reveal which users
    // exist. Other results reveal it anyway: users of a directory do not wait in the queue for password hashing.
    for (const name of withoutWork) await metadata.verify(name, login.user, login.password, undefined)
    return { result: { kind: 'refused' }, knownAs }
  }

  /** Returns the user for a typed name, if it is known without querying a directory. */
  function knownName(user: string, current: SecurityDirectory): string | undefined {
    if (user === internalUser || hasUser(current, user)) return user
    for (const logins of directories.values()) {
      const identity = logins.foundAs(user)
      if (identity !== undefined) return identity
    }
    return undefined
  }

  async function verifyCounted(
    login: Login,
    origin: LoginOrigin,
    current: SecurityDirectory,
  ): Promise<Authentication | undefined> {
    const attempts = new Map<string, LoginAttempt>()
    const countAttempt: CountAttempt = async (user) => {
      const name = countedName(user)
      // A login with the correct internal password is not a guess, so calls of servers are never throttled.
      if (attempts.has(name) || isOwnEscalator(login)) return undefined
      const attempt = { user: name, address: origin.address, digest: digest(name, login.password) }
      const waitSeconds = await throttle.begin(attempt)
      if (waitSeconds === undefined) attempts.set(name, attempt)
      return waitSeconds
    }
    const settle = async (how: 'succeeded' | 'undecided') => {
      for (const attempt of attempts.values()) await throttle[how](attempt)
    }
    let outcome: Outcome | undefined
    try {
      const waitSeconds = await countAttempt(login.user)
      outcome =
        waitSeconds === undefined
          ? await verifyOrRecall(login, current, countAttempt)
          : { result: { kind: 'throttled', retryAfterSeconds: waitSeconds } }
    } catch (error) {
      await settle('undecided')
      throw error
    }
    const result = outcome?.result
    if (result?.kind === 'refused' || result?.kind === 'throttled') {
      const reason = result.kind === 'refused' ? 'login' : 'throttle'
      onRefused(login.user, origin, reason, outcome?.knownAs ?? knownName(login.user, current))
      return result
    }
    // Only rejections count, not logins that could not be verified.
    await settle(result?.kind === 'known' ? 'succeeded' : 'undecided')
    if (result?.kind === 'known') {
      sources.add(login.user, origin.address)
      onLogin(result.caller, origin)
    }
    return result
  }

  /**
   * Verifies a login, or uses the cached result from another address. This still counts as an attempt: it may be a
   * guess.
   */
  async function verifyOrRecall(
    login: Login,
    current: SecurityDirectory,
    countAttempt: CountAttempt,
  ): Promise<Outcome | undefined> {
    const caller = remembered(login, current)
    return caller ? { result: { kind: 'known', caller } } : await verify(login, current, countAttempt)
  }

  /** Verifies equal concurrent logins once, unless users or passwords changed in between. */
  function verifyOnce(
    login: Login,
    origin: LoginOrigin,
    current: SecurityDirectory,
  ): Promise<Authentication | undefined> {
    const key = digest(String(current.version), login.user, login.password, origin.address)
    let attempt: Promise<Authentication | undefined> | undefined = inProgress.get(key)
    if (!attempt) {
      attempt = verifyCounted(login, origin, current)
      inProgress.set(key, attempt as Promise<Authentication>)
      const forget = () => inProgress.delete(key)
      attempt.then(forget, forget)
    }
    return attempt
  }

  /** Returns the result for a request without credentials: accepted if an authenticator accepts everyone. */
  function withoutLogin(current: SecurityDirectory): Authentication {
    const name = chain.find(allowsEveryone)
    if (name === undefined) return { kind: 'refused' }
    // The identity is the name of the authenticator, and its authorizer decides as usual.
    return { kind: 'known', caller: callers(name, name, [], current) }
  }

  async function authenticate(header: string | undefined, origin: LoginOrigin): Promise<Authentication> {
    const [first] = chain
    if (first === 'allowAll') return { kind: 'known', caller: unrestricted(first, first) }
    const login = readBasicHeader(header)
    if (!login && !chain.some(allowsEveryone)) return { kind: 'refused' }
    const current = directory.current()
    if ('missing' in current) return { kind: 'unavailable', message: current.missing }
    if (!login || (first !== undefined && allowsEveryone(first))) return withoutLogin(current)
    // From a new address, a cached password may be a guess, so it counts as an attempt.
    const known = sources.has(login.user, origin.address) ? remembered(login, current) : undefined
    const outcome: Authentication = known
      ? { kind: 'known', caller: known }
      : ((await verifyOnce(login, origin, current)) ?? withoutLogin(current))
    const isInternalUser = outcome.kind === 'known' && outcome.caller.identity === internalUser
    const isInternalAllowed = allowsInternal(origin.peer ?? origin.address) && allowsInternal(origin.address)
    if (isInternalUser && !isInternalAllowed) {
      onRefused(login.user, origin, 'network', internalUser)
      return { kind: 'refused' }
    }
    if (known) onUse(known, origin)
    return outcome
  }

  const openPaths = unsecuredPaths(settings)
  return {
    anonymousCaller,
    authenticate,
    isInternal: (caller) =>
      caller.authenticator !== '' &&
      (isOpen || (!allowsEveryone(caller.authenticator) && caller.identity === internalUser)),
    unsecured: (path) => (openPaths(path) ? unsecuredCaller : undefined),
    openOptions: settings.get('svc.auth.allowUnauthenticatedHttpOptions'),
  }
}

// As in Druid 37, a path that requires no login requires no permission either. Its caller is never internal.
const unsecuredCaller: Caller = unrestricted('anonymous', '')

/** Returns a test for whether a login is the one of the escalator of this server. */
function escalatorCheck(escalator: Pick<Escalator, 'header'>): (login: Login) => boolean {
  return ({ user, password }) => {
    const own = escalator.header()
    if (own === undefined || !user.isWellFormed() || !password.isWellFormed()) return false
    const [expected, given] = [Buffer.from(own), Buffer.from(basicHeader(user, password))]
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
}

/**
 * Returns a test of paths with servlet patterns: complete paths, or prefixes ending in `/*`, which also match the
 * prefix itself.
 */
export function unsecuredPaths(settings: Settings): (path: string) => boolean {
  const patterns = settings.get('svc.auth.unsecuredPaths')
  const exactPaths = new Set(patterns.filter((pattern) => !pattern.endsWith('/*')))
  const prefixes = patterns.filter((pattern) => pattern.endsWith('/*')).map((pattern) => pattern.slice(0, -2))
  if (patterns.length === 0) return () => false
  return (path) =>
    exactPaths.has(path) || prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`))
}
