import type { LoadingServer } from './server-draft.ts'

/** A server whose segments are not known yet. */
export interface UnreportedServer {
  readonly name: string
  /** Undefined for a process with servers in several tiers. */
  readonly tier: string | undefined
}

/**
 * Returns placeholders for servers whose segments are not known yet. They make their tiers count as tiers with servers, so
 * that replicas in other tiers are kept until these tiers have loaded them. They are full, so nothing is loaded on them.
 */
export const placeholdersOf = (
  unreported: readonly UnreportedServer[],
  newNumber: () => number,
): LoadingServer[] =>
  unreported.flatMap(({ name, tier }) =>
    tier === undefined
      ? []
      : {
          number: newNumber(),
          name,
          type: 'historical',
          tier,
          maxSizeBytes: 0,
          usedSizeBytes: 0,
          loadingSizeBytes: 0,
          queuedLoads: 0,
          decommissioning: false,
        },
  )
