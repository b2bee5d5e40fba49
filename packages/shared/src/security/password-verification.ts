import { setTimeout as sleep } from 'node:timers/promises'
import { hasControlCharacter } from '@svc/domain/validation'
import { type Credentials, hashPassword, unknownUserCredentials, verifyPassword } from './password-hash.ts'
import { Turns } from './turns.ts'

/** Where a login comes from, and a signal for the end of its last request. */
export interface LoginSource {
  readonly address: string
  readonly signal: AbortSignal
}

/** Whether a password is correct. */
export interface PasswordCheck {
  readonly isCorrect: boolean
  /**
   * Resolves when the caller may receive the rejection of a wrong password. Rejects if there are too many logins, or with the
   * reason of the signal.
   */
  readonly rejection: Promise<unknown>
}

/** Verifies and hashes passwords, a few at a time, each address in turn. */
export interface PasswordVerification {
  /**
   * Checks the password of an existing user. Once the check has begun, it ends with a result, even if the signal is
   * aborted: a caller that disconnects must not be able to take a guess back.
   */
  verify(password: string, stored: Credentials, source: LoginSource): Promise<PasswordCheck>
  /** Takes as long as `verify` and the rejection of a wrong password. */
  rejectUnknown(password: string, source: LoginSource): Promise<unknown>
  hash(password: string): Promise<Credentials>
}

// Hashing a password uses a thread of the pool for files, so a flood of guesses must not take all of them. Passwords of
// known and of unknown users have separate turns: anyone can invent names, and each would delay a correct password.
const knownAtOnce = 2
const unknownAtOnce = 1
const maxWaitingPerSource = 64
const maxWaiting = 1024

/** Creates a verification of passwords. */
export function createPasswordVerification(): PasswordVerification {
  const knownTurns = new Turns({
    atOnce: knownAtOnce,
    // Each login also has a place among the rejections, which are limited.
    maxWaitingPerSource: Number.POSITIVE_INFINITY,
    maxWaiting: Number.POSITIVE_INFINITY,
  })
  const rejectionTurns = new Turns({ atOnce: unknownAtOnce, maxWaitingPerSource, maxWaiting })

  /**
   * Verifies the password of a known user. A correct one does not wait for unknown users. The rejection of a wrong one
   * waits for the turn that an unknown user would have, and for the time that its hash would take: otherwise, the time
   * would reveal which users exist.
   */
  async function verify(
    password: string,
    stored: Credentials,
    { address, signal }: LoginSource,
  ): Promise<PasswordCheck> {
    const ended = new AbortController()
    const isOver = AbortSignal.any([signal, ended.signal])
    const result = Promise.withResolvers<boolean>()
    let tookMs = 0
    let hasBegun = false
    const rejection = rejectionTurns.run(
      address,
      async () => {
        const startedAtMs = performance.now()
        await result.promise
        const restMs = startedAtMs + tookMs - performance.now()
        if (restMs > 0) await sleep(restMs, undefined, { signal: isOver })
      },
      isOver,
    )
    const hashed = knownTurns.run(
      address,
      async () => {
        hasBegun = true
        const startedAtMs = performance.now()
        const fits = await verifyPassword(password, stored)
        tookMs = performance.now() - startedAtMs
        // `verifyPassword` explains the control characters.
        return fits && !hasControlCharacter(password)
      },
      isOver,
    )
    hashed.then(result.resolve, result.reject)
    for (const one of [rejection, result.promise]) one.catch(() => undefined)
    const lost = rejection.then(
      () => hashed,
      (error) => (hasBegun ? hashed : Promise.reject(error)),
    )
    try {
      const isCorrect = await Promise.race([hashed, lost])
      if (isCorrect) ended.abort()
      return { isCorrect, rejection }
    } catch (error) {
      ended.abort()
      throw error
    }
  }

  async function rejectUnknown(password: string, { address, signal }: LoginSource): Promise<unknown> {
    return await rejectionTurns.run(address, () => verifyPassword(password, unknownUserCredentials), signal)
  }

  return { verify, rejectUnknown, hash: (password) => knownTurns.run('', () => hashPassword(password)) }
}
