/** How many copies of one segment a tier has; copies that are being dropped count no more. */
export interface ReplicaCount {
  readonly served: number
  readonly loading: number
}

/** What brings a tier to the number of copies it should have. */
export interface ReplicaChange {
  readonly loads: number
  /** Loads in progress that are not needed any more. */
  readonly cancelledLoads: number
  readonly drops: number
}

/**
 * How many loads and drops bring one tier to `required` copies.
 *
 * `surplusInCluster` caps the drops: while a segment moves between tiers, a tier with too many copies keeps them until
 * the others have loaded theirs, so that there are never fewer copies than before.
 */
export function planReplicas(count: ReplicaCount, required: number, surplusInCluster: number): ReplicaChange {
  const { served, loading } = count
  return {
    loads: Math.max(0, required - served - loading),
    cancelledLoads: Math.min(loading, Math.max(0, served + loading - required)),
    drops: Math.max(0, Math.min(served - required, surplusInCluster)),
  }
}
