import { hasControlCharacter } from '@svc/domain/validation'
import { keepNewest } from '../runtime/index.ts'
import { digestOf } from './login-digest.ts'
import { createLoginLimit } from './login-limit.ts'
import {
  type Credentials,
  hashPassword,
  isOutdated,
  unknownUserCredentials,
  verifyPassword,
} from './password-hash.ts'

/** Verifies passwords against stored hashes, and remembers those that were verified. */
export interface MetadataLogins {
  /** Whether this password was verified against this very hash before. */
  isRemembered(authenticator: string, user: string, password: string, stored: Credentials): boolean
  /** The same work whether the user is known or not. */
  verify(
    authenticator: string,
    user: string,
    password: string,
    stored: Credentials | undefined,
  ): Promise<boolean>
}

/** Stores a hash made with today's parameters in place of `outdated`, unless that was replaced meanwhile. */
export type OnOutdated = (
  authenticator: string,
  user: string,
  outdated: Credentials,
  renewed: Credentials,
) => Promise<void>

// Hashing a password keeps a thread busy that files need as well: a flood of guesses may not take them all.
const hashesAtOnce = 2
const hashesWaiting = 64

// Verified credentials that are remembered at a time, each as a keyed digest.
const rememberedLogins = 1000

/** `onOutdated` is called when a login was verified against a hash of other parameters than today's. */
export function createMetadataLogins(onOutdated: OnOutdated | undefined): MetadataLogins {
  const digest = digestOf()
  const verified = new Map<string, string>()
  const hashing = createLoginLimit(hashesAtOnce, hashesWaiting)

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
      // Decided after hashing, so that the refusal takes as long as any other. See `verifyPassword` for the reason.
      if (!fits || !stored || hasControlCharacter(password)) return false
      const key = digest(authenticator, user, password)
      keepNewest(verified, key, stored.hash, rememberedLogins)
      // The login does not wait for it, and holds whatever becomes of it.
      renew(authenticator, user, password, stored).catch(() => undefined)
      return true
    },
  }
}
