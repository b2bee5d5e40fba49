import { keepNewest } from '../runtime/index.ts'
import { digestOf } from './login-digest.ts'
import { type Credentials, isOutdated } from './password-hash.ts'
import { createPasswordVerification, type LoginSource, type PasswordCheck } from './password-verification.ts'

/** Verifies passwords against stored hashes, and caches verified ones. */
export interface MetadataLogins {
  /** Returns whether this password was verified against exactly this hash before. */
  isRemembered(authenticator: string, user: string, password: string, stored: Credentials): boolean
  /**
   * Checks the password of a user. Throws unavailable if too many logins are waiting, and the reason of the signal if it is
   * aborted before the turn of the login.
   */
  verify(
    authenticator: string,
    user: string,
    password: string,
    stored: Credentials,
    source: LoginSource,
  ): Promise<PasswordCheck>
  /** Takes the same work and time as `verify` and the rejection of a wrong password, and throws the same errors. */
  rejectUnknown(password: string, source: LoginSource): Promise<unknown>
}

/** Replaces the hash `outdated` with one that has the current parameters, unless it has changed in the meantime. */
export type OnOutdated = (
  authenticator: string,
  user: string,
  outdated: Credentials,
  renewed: Credentials,
) => Promise<void>

// Max cached verified logins, each stored as a keyed digest.
const rememberedLogins = 1000

/** Calls `onOutdated` when a login was verified against a hash with outdated parameters. */
export function createMetadataLogins(onOutdated: OnOutdated | undefined): MetadataLogins {
  const digest = digestOf()
  const verified = new Map<string, string>()
  const verification = createPasswordVerification()

  async function renew(authenticator: string, user: string, password: string, outdated: Credentials) {
    if (!onOutdated || !isOutdated(password, outdated)) return
    const renewed = await verification.hash(password)
    await onOutdated(authenticator, user, outdated, renewed)
  }

  return {
    isRemembered: (authenticator, user, password, stored) =>
      verified.get(digest(authenticator, user, password)) === stored.hash,
    verify: async (authenticator, user, password, stored, source) => {
      const check = await verification.verify(password, stored, source)
      if (!check.isCorrect) return check
      const key = digest(authenticator, user, password)
      keepNewest(verified, key, stored.hash, rememberedLogins)
      // The login neither waits for this nor depends on it.
      renew(authenticator, user, password, stored).catch(() => undefined)
      return check
    },
    rejectUnknown: verification.rejectUnknown,
  }
}
