import { type Database, forgetOldRemovals, removeStaleNodes, removeStaleTroubles } from '@svc/shared/postgres'
import type { Duty } from './duty-group.ts'

// Long after every server that could still ask for them has been started anew.
const keptMs = 24 * 60 * 60 * 1000

/** Takes out of the metadata store what nobody will ask for again. */
export function cleanMetadata(database: Database): Duty {
  return {
    name: 'cleanMetadata',
    run: async () => {
      await removeStaleNodes(database, keptMs)
      await removeStaleTroubles(database, keptMs)
      await forgetOldRemovals(database, keptMs)
      return undefined
    },
  }
}
