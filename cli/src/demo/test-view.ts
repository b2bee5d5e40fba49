import type { ClusterView } from './cluster-view.ts'

/** A view with the given copies by tier and day, 1000 bytes each, for tests. */
export function view(copiesByTier: Readonly<Record<string, readonly number[]>>): ClusterView {
  return {
    tiers: Object.entries(copiesByTier).map(([tier, copiesByDay]) => ({
      tier,
      servers: 2,
      copiesByDay,
      sizeBytes: 1000 * copiesByDay.reduce((sum, copies) => sum + copies, 0),
    })),
    queuedLoads: 0,
    queuedDrops: 0,
    loadedPercent: 100,
    deepStorage: { files: 3, sizeBytes: 3000 },
  }
}
