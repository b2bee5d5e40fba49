/** A number of failed logins after which further ones are verified one at a time. */
export interface FailureLimit {
  readonly key: string
  readonly max: number
  /** How far apart the logins are that are verified beyond it. */
  readonly delayMs: number
  /** Whether the login goes before others that wait for this limit. */
  readonly isFirst: boolean
}

/** What an attempt counts for. */
export interface CountedAttempt {
  /** The limit of user and address first, which always counts; the others count only where the source is unknown. */
  readonly limits: readonly FailureLimit[]
  /** The user at the address: known for a time after a login that succeeded. */
  readonly source: string
}

/** Counts failed logins. */
export interface LoginCounts {
  /**
   * Counts an attempt for `periodMs` and returns 0, or counts nothing and returns the milliseconds until one may be
   * verified.
   */
  begin(attempt: CountedAttempt, periodMs: number): Promise<number>
  /** Forgets the failures of user and address, whose source is known from now on for `knownMs`. */
  succeeded(attempt: CountedAttempt, knownMs: number): Promise<void>
  /** Takes back what `begin` counted. */
  undecided(attempt: CountedAttempt): Promise<void>
}
