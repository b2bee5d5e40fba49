/** A login whose password is to be verified. */
export interface LoginAttempt {
  readonly user: string
  /** The address that the caller has, whatever servers of the cluster handed the request on. */
  readonly address: string
  /** Tells apart the passwords that are tried, and reveals none. */
  readonly digest: string
}

/** Limits how often passwords are verified that may be guesses, together for all servers of the cluster. */
export interface LoginThrottle {
  /**
   * Counts an attempt as failed. Returns undefined where it may be verified, or the seconds after which it may be
   * repeated. Counting before verifying leaves no gap for attempts at the same time.
   */
  begin(attempt: LoginAttempt): Promise<number | undefined>
  /** Forgets the failures of the user at the address, from where it is known from now on. */
  succeeded(attempt: LoginAttempt): Promise<void>
  /** Takes the count back: nobody knows whether the password was right. */
  undecided(attempt: LoginAttempt): Promise<void>
}

/** Refuses nobody. */
export const noThrottle: LoginThrottle = {
  begin: async () => undefined,
  succeeded: async () => undefined,
  undecided: async () => undefined,
}
