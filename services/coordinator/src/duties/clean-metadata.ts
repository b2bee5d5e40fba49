import type { Duty } from '@svc/shared/duties'
import {
  type Database,
  forgetOldRemovals,
  removeStaleLoadRates,
  removeStaleNodes,
  removeStaleProblems,
} from '@svc/shared/postgres'

// By then, every server that could still need these rows has long been restarted.
const keptMs = 24 * 60 * 60 * 1000
// A cluster may load little for months.
const loadRatesKeptMs = 180 * keptMs

/** Removes rows from the metadata store that no server will read again. */
export function cleanMetadata(database: Database): Duty {
  return {
    name: 'cleanMetadata',
    run: async () => {
      await removeStaleNodes(database, keptMs)
      await removeStaleProblems(database, keptMs)
      await forgetOldRemovals(database, keptMs)
      await removeStaleLoadRates(database, loadRatesKeptMs)
      return undefined
    },
  }
}
