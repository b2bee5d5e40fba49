/** Number of replicas of a segment in a tier, without those that are being dropped. */
export interface ReplicaCount {
  readonly served: number
  readonly loading: number
}

/** The changes that give a tier its required number of replicas. */
export interface ReplicaChange {
  readonly loads: number
  /** Loads in progress that are no longer needed. */
  readonly cancelledLoads: number
  readonly drops: number
}

/**
 * Returns the number of loads and drops that give a tier its `required` replicas.
 *
 * `surplusInCluster` limits the drops: while a segment moves between tiers, a tier with surplus replicas keeps them
 * until the other tiers have loaded enough, so the number of replicas never decreases.
 */
export function planReplicas(count: ReplicaCount, required: number, surplusInCluster: number): ReplicaChange {
  const { served, loading } = count
  return {
    loads: Math.max(0, required - served - loading),
    cancelledLoads: Math.min(loading, Math.max(0, served + loading - required)),
    drops: Math.max(0, Math.min(served - required, surplusInCluster)),
  }
}
