import type { Violation } from './cluster/cluster.ts'
import type { SimulationPlan } from './schedule.ts'

/** A plan to simulate. */
export interface SimulationOrder {
  readonly plan: SimulationPlan
  /** Whether to describe what happened. */
  readonly isTraced: boolean
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
  /** From the start of the work until the end, or until something was wrong. */
  readonly workMs: number
  readonly cpuMs: number
  /** Sentences about what happened. */
  readonly trace: readonly string[]
}
