/** A login attempt. */
export interface LoginAttempt {
  readonly user: string
  /** The address of the caller, even if other servers forwarded the request. */
  readonly address: string
  /** Distinguishes passwords without revealing them. */
  readonly digest: string
}

/** Limits password guesses across all servers of the cluster. */
export interface LoginThrottle {
  /**
   * Counts an attempt as failed. Returns undefined if it may be verified, or the seconds after which to retry. Counting
   * before verifying also limits concurrent attempts.
   */
  begin(attempt: LoginAttempt): Promise<number | undefined>
  /** Resets the failures of the user at this address, and remembers the address as known for the user. */
  succeeded(attempt: LoginAttempt): Promise<void>
  /** Reverts the count, because the password could not be verified. */
  undecided(attempt: LoginAttempt): Promise<void>
}

/** A throttle without limits. */
export const noThrottle: LoginThrottle = {
  begin: async () => undefined,
  succeeded: async () => undefined,
  undecided: async () => undefined,
}
