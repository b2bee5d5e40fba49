/** A number of failed logins beyond which logins are verified one at a time. */
export interface FailureLimit {
  readonly key: string
  readonly max: number
  /** Time between two verified logins beyond the limit. */
  readonly delayMs: number
  /** Whether the login is first in line for this limit. */
  readonly isFirst: boolean
}

/** The limits that an attempt counts toward. */
export interface CountedAttempt {
  /** The first limit, by user and address, always applies; the others only apply if the source is unknown. */
  readonly limits: readonly FailureLimit[]
  /** The key of user and address, which are known for some time after a successful login. */
  readonly source: string
}

/** Counts failed logins. */
export interface LoginCounts {
  /**
   * Counts an attempt for `periodMs` and returns 0, or counts nothing and returns the milliseconds until an attempt may
   * be verified.
   */
  begin(attempt: CountedAttempt, periodMs: number): Promise<number>
  /** Resets the failures of user and address, and makes the source known for `knownMs`. */
  succeeded(attempt: CountedAttempt, knownMs: number): Promise<void>
  /** Reverts the count of `begin`. */
  undecided(attempt: CountedAttempt): Promise<void>
}
