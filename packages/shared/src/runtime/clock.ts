/** The time that the cluster decides by: rules, versions, audit entries. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
}

/** The time of this machine. */
export const systemClock: Clock = { now: () => Date.now() }
