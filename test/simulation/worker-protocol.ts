import type { Violation } from './cluster/cluster.ts'

/** A seed to simulate. */
export interface SeedOrder {
  readonly seed: number
  readonly minutes: number
}

/** What a simulation found. */
export interface SeedOutcome {
  readonly seed: number
  /** Empty if all invariants hold. */
  readonly violations: readonly Violation[]
  /** Equal for equal runs. */
  readonly fingerprint: number
  readonly steps: number
  readonly simulatedMs: number
  readonly cpuMs: number
}
