/** The time that the cluster uses for rules, versions, and audit entries. */
export interface Clock {
  /** Returns milliseconds since the epoch. */
  now(): number
}

/** The time of this machine. */
export const systemClock: Clock = { now: () => Date.now() }
