import type { LoadPoint } from './estimate-load-time.ts'

/** How long a change takes until all its replicas are loaded, as the coordinator returns it. Null is unknown. */
export interface AnsweredLoadTime {
  /** Null if a tier has not been measured. */
  readonly durationMs: number | null
  readonly tiers: Readonly<Record<string, AnsweredTierLoadTime>>
  readonly assumptions: readonly string[]
}

/** How long the loads of one tier take. */
export interface AnsweredTierLoadTime {
  readonly durationMs: number | null
  /** What takes longest; see `LoadTimeEstimate`. */
  readonly limitedBy: string | null
  /** How many replicas are loaded over time. Empty if that is unknown; earlier versions return none. */
  readonly curve?: readonly LoadPoint[]
  readonly loads: number
  readonly bytes: number
  readonly servers: number
  readonly measuredServers: number
}
