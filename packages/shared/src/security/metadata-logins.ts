import { hasControlCharacter } from '@svc/domain/validation'
import { keepNewest } from '../runtime/index.ts'
import { createConcurrencyLimit } from './concurrency-limit.ts'
import { digestOf } from './login-digest.ts'
import {
  type Credentials,
  hashPassword,
  isOutdated,
  unknownUserCredentials,
  verifyPassword,
} from './password-hash.ts'

/** Verifies passwords against stored hashes, and caches verified ones. */
export interface MetadataLogins {
  /** Returns whether this password was verified against exactly this hash before. */
  isRemembered(authenticator: string, user: string, password: string, stored: Credentials): boolean
  /** Returns whether the password is correct. Does the same work for known and unknown users. */
  verify(
    authenticator: string,
    user: string,
    password: string,
    stored: Credentials | undefined,
  ): Promise<boolean>
}

/** Replaces the hash `outdated` with one that has the current parameters, unless it has changed in the meantime. */
export type OnOutdated = (
  authenticator: string,
  user: string,
  outdated: Credentials,
  renewed: Credentials,
) => Promise<void>

// Hashing a password uses a thread of the pool for files, so a flood of guesses must not take all of them.
const hashesAtOnce = 2
const hashesWaiting = 64

// Max cached verified logins, each stored as a keyed digest.
const rememberedLogins = 1000

/** Calls `onOutdated` when a login was verified against a hash with outdated parameters. */
export function createMetadataLogins(onOutdated: OnOutdated | undefined): MetadataLogins {
  const digest = digestOf()
  const verified = new Map<string, string>()
  const hashing = createConcurrencyLimit(hashesAtOnce, hashesWaiting)

  async function renew(authenticator: string, user: string, password: string, outdated: Credentials) {
    if (!onOutdated || !isOutdated(outdated)) return
    const renewed = await hashing(() => hashPassword(password))
    await onOutdated(authenticator, user, outdated, renewed)
  }

  return {
    isRemembered: (authenticator, user, password, stored) =>
      verified.get(digest(authenticator, user, password)) === stored.hash,
    verify: async (authenticator, user, password, stored) => {
      const fits = await hashing(() => verifyPassword(password, stored ?? unknownUserCredentials))
      // Checked after hashing, so that every rejection takes equally long. `verifyPassword` explains the check.
      if (!fits || !stored || hasControlCharacter(password)) return false
      const key = digest(authenticator, user, password)
      keepNewest(verified, key, stored.hash, rememberedLogins)
      // The login neither waits for this nor depends on it.
      renew(authenticator, user, password, stored).catch(() => undefined)
      return true
    },
  }
}
