import type { LoginVerdict } from '@svc/domain/access'
import { type Settings, usesLdap } from '../config/index.ts'
import { keepNewest } from '../runtime/index.ts'
import {
  type CountAttempt,
  type LdapDirectory,
  type LdapFinding,
  openLdapDirectory,
} from './ldap-directory.ts'
import type { OnProblem } from './ldap-requests.ts'
import { directoryProperties } from './ldap-settings.ts'
import type { LdapTrace } from './ldap-trace.ts'
import { digestOf } from './login-digest.ts'

// Max cached user names that the directory has resolved.
const maxFoundNames = 10_000

/** Verifies logins against an LDAP directory, and caches the results for some time. */
export interface LdapLogins {
  /** Returns the cached result if it is fresh enough; undefined if the directory must be queried. */
  remembered(user: string, password: string): LoginVerdict | undefined
  /**
   * Queries the directory. While it is unavailable, cached results are valid for longer. Calls `countAttempt` with the
   * resolved user before it tries the password, because a directory may find one user by many names. Notes in `trace`
   * what it requests.
   */
  verify(
    user: string,
    password: string,
    countAttempt?: CountAttempt,
    trace?: LdapTrace,
  ): Promise<LoginVerdict>
  /** Returns the user that the directory has found for a typed name before, if cached. */
  foundAs(user: string): string | undefined
  /** Looks up a user without a login, as a login does before it tries the password. */
  find(user: string, trace?: LdapTrace): Promise<LdapFinding>
}

/**
 * Returns the logins of all authenticators in the chain that use a directory. Throws a plain error if the trust store
 * for directories or a filter is invalid. Loads the client library only if there is a directory.
 */
export async function openLdapLogins(
  settings: Settings,
  now: () => number,
  onProblem: OnProblem,
): Promise<ReadonlyMap<string, LdapLogins>> {
  const found = new Map<string, LdapLogins>()
  for (const name of settings.get('svc.auth.authenticatorChain')) {
    if (!usesLdap(settings, name)) continue
    found.set(name, remembering(await openLdapDirectory(settings, name, onProblem), settings, name, now))
  }
  return found
}

interface RememberedLogin {
  readonly digest: string
  readonly verdict: LoginVerdict
  readonly at: number
}

/** Caches the last successful login of each user, and which users are unknown. */
function remembering(
  directory: LdapDirectory,
  settings: Settings,
  name: string,
  now: () => number,
): LdapLogins {
  const verifyMs = settings.getNamed(`${directoryProperties}.credentialVerifyDuration`, name) * 1000
  const maxMs = settings.getNamed(`${directoryProperties}.credentialMaxDuration`, name) * 1000
  const size = settings.getNamed(`${directoryProperties}.credentialCacheSize`, name)
  const digest = digestOf()
  // Separate caches, so that a flood of unknown names does not evict known users.
  const known = new Map<string, RememberedLogin>()
  const unknown = new Map<string, RememberedLogin>()
  const foundNames = new Map<string, string>()

  const find = (user: string, password: string, longestMs: number): LoginVerdict | undefined => {
    const login = known.get(user)
    if (login && login.digest === digest(user, password) && now() - login.at < longestMs) return login.verdict
    const lastUnknown = unknown.get(user)
    return lastUnknown && now() - lastUnknown.at < longestMs ? lastUnknown.verdict : undefined
  }

  return {
    find: directory.find,
    foundAs: (user) => foundNames.get(user),
    remembered: (user, password) => find(user, password, verifyMs),
    verify: async (user, password, countAttempt = async () => undefined, trace = undefined) => {
      const verdict = await directory.verify(user, password, countAttempt, trace)
      if (verdict.kind === 'unavailable') return find(user, password, maxMs) ?? verdict
      if (verdict.kind === 'unknown') foundNames.delete(user)
      else if (verdict.identity !== undefined) keepNewest(foundNames, user, verdict.identity, maxFoundNames)
      const login = { digest: digest(user, password), verdict, at: now() }
      if (verdict.kind === 'known') {
        unknown.delete(user)
        keepNewest(known, user, login, size)
      } else if (verdict.kind === 'unknown') {
        known.delete(user)
        keepNewest(unknown, user, login, size)
      } else {
        unknown.delete(user)
        // A wrong guess does not evict the correct password.
      }
      return verdict
    },
  }
}
