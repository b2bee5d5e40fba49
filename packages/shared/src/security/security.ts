import { timingSafeEqual } from 'node:crypto'
import { hasControlCharacter } from '@svc/domain/validation'
import { asksForLogin, internalNetworks, letsEveryoneIn, type Settings } from '../config/index.ts'
import { basicHeader, readBasicHeader } from './basic-header.ts'
import { type Caller, createCallerCache, nobody, unrestricted } from './caller.ts'
import { askedAuthenticators, hiddenUserTest } from './chain.ts'
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

/** Where a login comes from, and the server that it says it is, for the log. */
export interface LoginOrigin {
  /** The address of the caller, also where a router handed the request on. */
  readonly address: string
  /** The address of the connection where that is another one: the router's. */
  readonly peer?: string
  readonly server: string
}

export type Authentication =
  | { readonly kind: 'known'; readonly caller: Caller }
  | { readonly kind: 'refused' }
  | { readonly kind: 'throttled'; readonly retryAfterSeconds: number }
  | { readonly kind: 'unavailable'; readonly message: string }

/** Who callers are and whether they are servers of the cluster. */
export interface Security {
  readonly nobody: Caller
  authenticate(authorizationHeader: string | undefined, origin: LoginOrigin): Promise<Authentication>
  /** Whether the caller proved to be the escalator's identity; anyone is where everything is allowed. */
  isInternal(caller: Caller): boolean
  /** Whoever asks for a path that needs neither login nor permission; undefined for all other paths. */
  unsecured(path: string): Caller | undefined
  /** Whether OPTIONS needs no login. */
  readonly openOptions: boolean
}

/** Invalid credentials; credentials not verified after too many failures; a network that the internal user may not use. */
export type RefusalReason = 'login' | 'throttle' | 'network'

/** What security tells others, and has from others. */
export interface SecurityOptions {
  /**
   * Called with every refused login; `server` of the origin is empty where no server of the cluster is behind it.
   * `knownAs` is the name of the user if the store or a directory has one for what was typed.
   */
  readonly onRefused?: (
    user: string,
    origin: LoginOrigin,
    reason: RefusalReason,
    knownAs: string | undefined,
  ) => void
  /** Told of logins that were just verified: not of those that are remembered. */
  readonly onLogin?: (caller: Caller, origin: LoginOrigin) => void
  /** Told of requests by logins that are remembered, with each of them: it costs next to nothing. */
  readonly onUse?: (caller: Caller, origin: LoginOrigin) => void
  readonly onOutdated?: OnOutdated
  /** The identity of this server among the servers; that of the settings when left out. */
  readonly escalator?: Pick<Escalator, 'header'>
  readonly throttle?: LoginThrottle
  /** The directories of authenticators with an `ldap` validator, by name of the authenticator. */
  readonly directories?: ReadonlyMap<string, LdapLogins>
}

interface Login {
  readonly user: string
  readonly password: string
}

/** What one member of the chain says of a login. */
type Verdict =
  | { readonly kind: 'known'; readonly identity: string; readonly groups: readonly string[] }
  | { readonly kind: 'wrong'; readonly identity?: string }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'throttled'; readonly retryAfterSeconds: number; readonly identity?: string }
  | { readonly kind: 'unavailable'; readonly message: string }

/** What the chain says of a login, and the user that it is about, if there is one. */
interface Outcome {
  readonly result: Authentication
  readonly knownAs?: string | undefined
}

/**
 * Security as configured: the chain of authenticators, asked in order, and the authorizers. Verified credentials
 * are remembered as long as the stored hash is the one they were verified against; those of a directory for the time
 * that is configured.
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
  // Read once: every request asks.
  const open = new Set(chain.filter((name) => letsEveryoneIn(settings, name)))
  const asked = askedAuthenticators(settings)
  const allowsEveryone = (name: string) => open.has(name)
  const isOpen = !asksForLogin(settings)
  const metadata = createMetadataLogins(onOutdated)
  const callers = createCallerCache(settings)
  const allowsInternal = internalNetworks(settings)
  const isOwnEscalator = escalatorCheck(escalator)
  const isHidden = hiddenUserTest(settings)
  const digest = digestOf()
  const underWay = new Map<string, Promise<Authentication>>()
  const sources = createKnownSources()

  /** The directories before a member that were asked by another name than the identity that the member proved. */
  const otherDirectories = (name: string, identity: string, typed: string): LdapLogins[] =>
    identity === typed
      ? []
      : asked.slice(0, asked.indexOf(name)).flatMap((member) => directories.get(member) ?? [])

  /** What is remembered of a login, found without work; undefined where it has to be verified. */
  function remembered(login: Login, current: SecurityDirectory): Caller | undefined {
    const { user, password } = login
    for (const name of asked) {
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

  async function ask(
    name: string,
    login: Login,
    current: SecurityDirectory,
    isTaken: boolean,
    countAttempt: CountAttempt,
  ): Promise<Verdict> {
    const { user, password } = login
    const logins = directories.get(name)
    if (logins) {
      return isTaken ? { kind: 'unknown' } : await askDirectory(name, logins, login, current, countAttempt)
    }
    const stored = isTaken ? undefined : storedCredentials(current, name, user)
    if (!stored) return { kind: 'unknown' }
    return (await metadata.verify(name, user, password, stored))
      ? { kind: 'known', identity: user, groups: [] }
      : { kind: 'wrong', identity: user }
  }

  async function askDirectory(
    name: string,
    logins: LdapLogins,
    { user, password }: Login,
    current: SecurityDirectory,
    countAttempt: CountAttempt,
  ): Promise<Verdict> {
    // The password of the servers is for nobody else to see.
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

  /** Asks the chain about a login; undefined where a member lets in whoever is unknown before it. */
  async function verify(
    login: Login,
    current: SecurityDirectory,
    countAttempt: CountAttempt,
  ): Promise<Outcome | undefined> {
    // A name with control characters is never looked up. Directories may ignore them, and find somebody else.
    let isTaken = hasControlCharacter(login.user)
    let knownAs: string | undefined
    let missing: string | undefined
    const withoutWork: string[] = []
    for (const name of asked) {
      if (allowsEveryone(name)) {
        if (isTaken || missing !== undefined) break
        return undefined
      }
      const verdict = await ask(name, login, current, isTaken, countAttempt)
      if (verdict.kind === 'unknown' && !directories.has(name)) withoutWork.push(name)
      if (verdict.kind === 'throttled') {
        const { kind, retryAfterSeconds, identity } = verdict
        return { result: { kind, retryAfterSeconds }, knownAs: knownAs ?? identity }
      }
      if (verdict.kind === 'known' && !isTaken) {
        return { result: { kind: 'known', caller: callers(name, verdict.identity, verdict.groups, current) } }
      }
      // A user that is known here is looked for nowhere else: a name hides the same name further on.
      isTaken ||= verdict.kind === 'wrong'
      if (verdict.kind === 'wrong') knownAs ??= verdict.identity
      if (verdict.kind === 'unavailable') missing ??= verdict.message
    }
    if (missing !== undefined) return { result: { kind: 'unavailable', message: missing } }
    // A refusal costs the same work whoever is known, so that its time does not reveal that. Other outcomes show it
    // anyway: users of a directory do not take turns with those whose passwords are hashed here.
    for (const name of withoutWork) await metadata.verify(name, login.user, login.password, undefined)
    return { result: { kind: 'refused' }, knownAs }
  }

  /** The name of the user that a typed name stands for, as far as it is known without asking a directory. */
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
      // The servers' own password is not guessed by whoever has it: their calls are never held back.
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
    // Only refusals count; what could not be verified is nobody's failure.
    await settle(result?.kind === 'known' ? 'succeeded' : 'undecided')
    if (result?.kind === 'known') {
      sources.add(login.user, origin.address)
      onLogin(result.caller, origin)
    }
    return result
  }

  /** Verifies a login, or takes it as it was verified from elsewhere: an attempt all the same, as it may be a guess. */
  async function verifyOrRecall(
    login: Login,
    current: SecurityDirectory,
    countAttempt: CountAttempt,
  ): Promise<Outcome | undefined> {
    const caller = remembered(login, current)
    return caller ? { result: { kind: 'known', caller } } : await verify(login, current, countAttempt)
  }

  /** Requests at the same time share the work, unless users or passwords were changed in between. */
  function verifyOnce(
    login: Login,
    origin: LoginOrigin,
    current: SecurityDirectory,
  ): Promise<Authentication | undefined> {
    const key = digest(String(current.version), login.user, login.password, origin.address)
    let attempt: Promise<Authentication | undefined> | undefined = underWay.get(key)
    if (!attempt) {
      attempt = verifyCounted(login, origin, current)
      underWay.set(key, attempt as Promise<Authentication>)
      const forget = () => underWay.delete(key)
      attempt.then(forget, forget)
    }
    return attempt
  }

  /** Whoever needs no credentials, by a member that lets everyone in. */
  function withoutLogin(current: SecurityDirectory): Authentication {
    const name = chain.find(allowsEveryone)
    if (name === undefined) return { kind: 'refused' }
    // Whoever comes this far is known by the name of the authenticator; its authorizer decides like any other.
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
    // From where a user has not logged in, a remembered password may as well be a guess: it counts as an attempt.
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
    nobody,
    authenticate,
    isInternal: (caller) =>
      caller.authenticator !== '' &&
      (isOpen || (!allowsEveryone(caller.authenticator) && caller.identity === internalUser)),
    unsecured: (path) => (openPaths(path) ? unsecuredCaller : undefined),
    openOptions: settings.get('svc.auth.allowUnauthenticatedHttpOptions'),
  }
}

// As in the recorded system, a path that needs no login needs no permission either; it never is one of a server.
const unsecuredCaller: Caller = unrestricted('anonymous', '')

/** Whether a login is the one that this server itself uses as the escalator. */
function escalatorCheck(escalator: Pick<Escalator, 'header'>): (login: Login) => boolean {
  return ({ user, password }) => {
    const own = escalator.header()
    if (own === undefined || !user.isWellFormed() || !password.isWellFormed()) return false
    const [expected, given] = [Buffer.from(own), Buffer.from(basicHeader(user, password))]
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
}

/** The test of paths by the patterns of servlets: whole ones, and those that end in `/*`, which cover the bare prefix. */
export function unsecuredPaths(settings: Settings): (path: string) => boolean {
  const patterns = settings.get('svc.auth.unsecuredPaths')
  const whole = new Set(patterns.filter((pattern) => !pattern.endsWith('/*')))
  const prefixes = patterns.filter((pattern) => pattern.endsWith('/*')).map((pattern) => pattern.slice(0, -2))
  if (patterns.length === 0) return () => false
  return (path) =>
    whole.has(path) || prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`))
}
