/** Counts failed logins of one user from one address, together for all servers of the cluster. */
export interface LoginThrottle {
  /**
   * Counts an attempt. Returns undefined where it may be verified, or the seconds to wait. Counting before verifying
   * leaves no gap for attempts at the same time.
   */
  begin(user: string, address: string): Promise<number | undefined>
  /** Forgets the attempts, as one of them succeeded. */
  succeeded(user: string, address: string): Promise<void>
}

/** Refuses nobody. */
export const noThrottle: LoginThrottle = { begin: async () => undefined, succeeded: async () => undefined }
