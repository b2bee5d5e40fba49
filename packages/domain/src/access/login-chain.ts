import { hasControlCharacter } from '../validation/index.ts'

/** An authenticator of a chain. */
export interface ChainMember {
  readonly name: string
  /** Who its users are: everyone, without a check; users with stored passwords; or the users of an LDAP directory. */
  readonly users: 'everyone' | 'stored' | 'directory'
}

/** The authenticators that a login can reach, in order. */
export interface LoginChain {
  readonly members: readonly ChainMember[]
  /** The configured authenticators that no login can reach, because the last member does not let it pass. */
  readonly unreachable?: readonly string[]
  /** The user of the servers. A directory cannot have this user if any authenticator stores a password for it. */
  readonly internalUser: string
}

/** Returns whether an authenticator stores a password for a user. */
export type HasPassword = (authenticator: string, user: string) => boolean

/** A login to check at one authenticator. */
export interface LoginQuestion {
  readonly authenticator: string
  readonly user: string
}

/** The answer of one authenticator. `identity` is its own name for the user. */
export type LoginVerdict =
  | { readonly kind: 'known'; readonly identity: string; readonly groups: readonly string[] }
  | { readonly kind: 'wrong'; readonly identity?: string }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'throttled'; readonly retryAfterSeconds: number; readonly identity?: string }
  | { readonly kind: 'unavailable'; readonly message: string; readonly problem?: DirectoryProblem }

/**
 * Why a directory did not check a login: it rejected the bind user; it did not respond in time; it was not queried,
 * because an earlier request has just failed or has not been answered; or another problem.
 */
export interface DirectoryProblem {
  readonly kind: 'bindRejected' | 'timeout' | 'paused' | 'failed'
  readonly error: string
}

/** The answer of the entire chain. */
export type ChainOutcome =
  | (Extract<LoginVerdict, { kind: 'known' }> & { readonly authenticator: string })
  /** A directory returned an identity that belongs to a user of another authenticator. */
  | { readonly kind: 'hidden'; readonly authenticator: string; readonly identity: string }
  /** The login reached an authenticator that accepts everyone. */
  | { readonly kind: 'everyone'; readonly authenticator: string }
  | Extract<LoginVerdict, { kind: 'unknown' }>
  | (Extract<LoginVerdict, { kind: 'wrong' | 'throttled' | 'unavailable' }> & {
      readonly authenticator: string
    })

/**
 * Returns whether a stored user hides a directory user: an earlier authenticator stores a password for that name, or
 * any authenticator does for the internal user. Directories accept several spellings of a name; this is about the
 * identity that they return.
 */
export function isHiddenUser(
  { members, internalUser }: LoginChain,
  hasPassword: HasPassword,
  authenticator: string,
  identity: string,
): boolean {
  for (const { name, users } of members) {
    if (name === authenticator && identity !== internalUser) return false
    if (users === 'stored' && hasPassword(name, identity)) return true
  }
  return false
}

/**
 * Walks the chain for a login: yields each authenticator that must check it, and receives the answer. The first one
 * that knows the user decides: it hides users with the same name in later authenticators.
 */
function* chainWalk(
  chain: LoginChain,
  hasPassword: HasPassword,
  user: string,
): Generator<LoginQuestion, ChainOutcome, LoginVerdict> {
  // While a directory is unavailable, a later authenticator may accept a login, but none may reject it.
  let missing: Extract<ChainOutcome, { kind: 'unavailable' }> | undefined
  for (const { name: authenticator, users } of chain.members) {
    if (users === 'everyone') return missing ?? { kind: 'everyone', authenticator }
    // Never look up a name with control characters: directories may ignore them and find another user.
    if (hasControlCharacter(user)) return { kind: 'unknown' }
    if (users === 'stored' && !hasPassword(authenticator, user)) continue
    // Never send the password of the internal user to a directory.
    const isInternal = user === chain.internalUser
    if (users === 'directory' && isInternal && isHiddenUser(chain, hasPassword, authenticator, user)) continue
    const verdict = yield { authenticator, user }
    if (verdict.kind === 'throttled') return { ...verdict, authenticator }
    if (verdict.kind === 'wrong') return missing ?? { ...verdict, authenticator }
    if (verdict.kind === 'unavailable') missing ??= { ...verdict, authenticator }
    if (verdict.kind !== 'known') continue
    const { identity } = verdict
    const isHidden =
      users === 'directory' &&
      (isHiddenUser(chain, hasPassword, authenticator, identity) ||
        (identity !== user && (yield* isInEarlierDirectory(chain, authenticator, identity))))
    return isHidden ? (missing ?? { kind: 'hidden', authenticator, identity }) : { ...verdict, authenticator }
  }
  return missing ?? { kind: 'unknown' }
}

/** Checks the earlier directories for an identity, because they were only queried for the typed name. */
function* isInEarlierDirectory(
  { members }: LoginChain,
  authenticator: string,
  identity: string,
): Generator<LoginQuestion, boolean, LoginVerdict> {
  for (const { name, users } of members) {
    if (name === authenticator) return false
    if (users !== 'directory') continue
    const { kind } = yield { authenticator: name, user: identity }
    if (kind === 'known' || kind === 'wrong') return true
  }
  return false
}

/** Walks the chain with asynchronous answers. */
export async function walkChain(
  chain: LoginChain,
  hasPassword: HasPassword,
  user: string,
  answer: (question: LoginQuestion) => Promise<LoginVerdict>,
): Promise<ChainOutcome> {
  const walk = chainWalk(chain, hasPassword, user)
  let step = walk.next()
  while (!step.done) step = walk.next(await answer(step.value))
  return step.value
}

/** Walks the chain with answers that are available now. Returns undefined if one is missing. */
export function walkChainNow(
  chain: LoginChain,
  hasPassword: HasPassword,
  user: string,
  answer: (question: LoginQuestion) => LoginVerdict | undefined,
): ChainOutcome | undefined {
  const walk = chainWalk(chain, hasPassword, user)
  let step = walk.next()
  while (!step.done) {
    const verdict = answer(step.value)
    if (!verdict) return undefined
    step = walk.next(verdict)
  }
  return step.value
}
