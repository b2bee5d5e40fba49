import { createHmac, randomBytes } from 'node:crypto'
import { unavailable } from '@svc/domain/failure'
import type { Settings } from '../config/index.ts'
import { readBasicHeader } from './basic-header.ts'
import { type Caller, nobody, permittedCaller, unrestricted } from './caller.ts'
import type { DirectorySource, SecurityDirectory } from './directory.ts'
import { type Credentials, unknownUserCredentials, verifyPassword } from './password-hash.ts'

/** Where a login comes from: the address, and the server that it says it is, for the log. */
export interface LoginOrigin {
  readonly address: string
  readonly server: string
}

export type Authentication =
  | { readonly kind: 'known'; readonly caller: Caller }
  | { readonly kind: 'refused' }
  | { readonly kind: 'unavailable'; readonly message: string }

/** Who callers are and whether they are servers of the cluster. */
export interface Security {
  readonly nobody: Caller
  authenticate(authorizationHeader: string | undefined, origin: LoginOrigin): Promise<Authentication>
  /** Whether the caller proved to be the escalator's identity; anyone is where everything is allowed. */
  isInternal(caller: Caller): boolean
}

/** Runs work a few at a time; beyond those that may wait it is refused as unavailable. */
function createLimit(
  atOnce: number,
  mostWaiting: number,
): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let running = 0
  const waiting: (() => void)[] = []
  return async (work) => {
    if (running >= atOnce) {
      if (waiting.length >= mostWaiting) throw unavailable('Too many logins are being verified; try again')
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}

/** Told of refused logins; `server` is empty where no server of the cluster is behind it. */
export type OnRefused = (user: string, origin: LoginOrigin) => void

// Hashing a password keeps a thread busy that files need as well: a flood of guesses may not take them all.
const hashesAtOnce = 2
const hashesWaiting = 64

// Verified credentials that are remembered at a time, each as a keyed digest.
const rememberedLogins = 1000

/**
 * Security as configured: the chain of authenticators, asked in order, and the authorizers. Verified credentials
 * are remembered as long as the stored hash is the one they were verified against.
 */
export function createSecurity(
  settings: Settings,
  directory: DirectorySource,
  onRefused: OnRefused,
): Security {
  const chain = settings.get('svc.auth.authenticatorChain')
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  const allowsEveryone = (name: string) =>
    name === 'allowAll' || settings.getNamed('svc.auth.authenticator.<name>.type', name) === 'allowAll'
  const asksForLogin = chain.some((name) => !allowsEveryone(name))
  const verify = createPasswordVerifier()
  const callers = createCallerCache(settings)

  async function authenticate(header: string | undefined, origin: LoginOrigin): Promise<Authentication> {
    const login = readBasicHeader(header)
    let attempted = false
    let isTaken = false
    for (const name of chain) {
      if (allowsEveryone(name)) {
        if (isTaken) break
        if (name === 'allowAll') return { kind: 'known', caller: unrestricted(name, name) }
        // Whoever comes this far is known by the name of the authenticator; its authorizer decides like any other.
        const current = directory.current()
        if ('missing' in current) return { kind: 'unavailable', message: current.missing }
        return { kind: 'known', caller: callers(name, name, current) }
      }
      if (!login) continue
      const current = directory.current()
      if ('missing' in current) return { kind: 'unavailable', message: current.missing }
      const stored: Credentials | undefined = isTaken
        ? undefined
        : storedCredentials(current, name, login.user)
      attempted = true
      if (await verify(name, login.user, login.password, stored)) {
        return { kind: 'known', caller: callers(name, login.user, current) }
      }
      // A user that is known here is looked for nowhere else: a name hides the same name further on. The work is
      // done all the same, so that the time of an answer does not tell who is known.
      isTaken ||= stored !== undefined
      if (!settings.getNamed('svc.auth.authenticator.<name>.skipOnFailure', name)) break
    }
    if (attempted && login) onRefused(login.user, origin)
    return { kind: 'refused' }
  }

  return {
    nobody,
    authenticate,
    isInternal: (caller) =>
      caller.authenticator !== '' &&
      (!asksForLogin || (!allowsEveryone(caller.authenticator) && caller.identity === internalUser)),
  }
}

/** The credentials of a user, if it is known and has any. */
function storedCredentials(
  { authenticators }: SecurityDirectory,
  authenticator: string,
  user: string,
): Credentials | undefined {
  const users = Object.hasOwn(authenticators, authenticator) ? authenticators[authenticator] : undefined
  return users && Object.hasOwn(users, user) ? (users[user] ?? undefined) : undefined
}

type PasswordVerifier = (
  authenticator: string,
  user: string,
  password: string,
  stored: Credentials | undefined,
) => Promise<boolean>

function createPasswordVerifier(): PasswordVerifier {
  const key = randomBytes(32)
  const verified = new Map<string, string>()
  const underWay = new Map<string, Promise<boolean>>()
  const hashing = createLimit(hashesAtOnce, hashesWaiting)
  return async (authenticator, user, password, stored) => {
    const digest = createHmac('sha256', key)
      .update(JSON.stringify([authenticator, user, password]))
      .digest('base64')
    if (stored && verified.get(digest) === stored.hash) return true
    // Requests at the same time share the work, unless the password was changed in between.
    const attemptKey = `${digest} ${stored?.hash ?? ''}`
    let attempt = underWay.get(attemptKey)
    if (!attempt) {
      attempt = hashing(() => verifyPassword(password, stored ?? unknownUserCredentials))
      underWay.set(attemptKey, attempt)
    }
    try {
      if (!(await attempt) || !stored) return false
    } finally {
      underWay.delete(attemptKey)
    }
    verified.delete(digest)
    verified.set(digest, stored.hash)
    for (const oldest of verified.keys()) {
      if (verified.size <= rememberedLogins) break
      verified.delete(oldest)
    }
    return true
  }
}

/** Callers with their compiled permissions, kept as long as the directory they were made from. */
function createCallerCache(settings: Settings) {
  let madeFrom: SecurityDirectory | undefined
  const callers = new Map<string, Caller>()
  return (authenticator: string, user: string, directory: SecurityDirectory): Caller => {
    if (madeFrom !== directory) {
      callers.clear()
      madeFrom = directory
    }
    const key = JSON.stringify([authenticator, user])
    const cached = callers.get(key)
    if (cached) return cached
    const authorizer = settings.getNamed('svc.auth.authenticator.<name>.authorizerName', authenticator) ?? ''
    const everything =
      authorizer === 'allowAll' ||
      settings.getNamed('svc.auth.authorizer.<name>.type', authorizer) === 'allowAll'
    const known = Object.hasOwn(directory.authorizers, authorizer)
      ? directory.authorizers[authorizer]
      : undefined
    const caller = everything
      ? unrestricted(user, authenticator)
      : permittedCaller(user, authenticator, known ?? { users: {}, roles: {}, groupMappings: {} })
    callers.set(key, caller)
    return caller
  }
}
