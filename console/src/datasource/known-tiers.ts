import type { InventoryFigures } from '../web-worker/index.ts'

/**
 * Returns the tiers that have servers or replicas, some of them several times. A user who may not read the servers knows tiers only from
 * replicas.
 */
export const knownTiers = ({ tiers, datasources }: InventoryFigures): readonly string[] => [
  ...tiers.map(({ name }) => name),
  ...new Set(datasources.flatMap(({ bytesByTier }) => Object.keys(bytesByTier))),
]
