import { sharedRuns } from '../runtime/index.ts'
import type { Database } from './database.ts'
import type { Listener } from './notices.ts'

/** Notifications about committed changes, with the name of the table. */
const tablesChannel = 'svc_tables'

const watchedTables = ['segments', 'dynamic_configs'] as const

/** A table whose changes the metadata store reports. */
export type WatchedTable = (typeof watchedTables)[number]

/** Counts changes to tables of the metadata store, so that a reader knows whether what it has read is still current. */
export interface TableChanges {
  /** Waits until all changes that were committed before this call have been counted. */
  catchUp(): Promise<void>
  /** Returns a number that grows with each change; undefined before `start`. Counts a change a moment after it is committed. */
  countOf(table: WatchedTable): number | undefined
  /** Starts to listen for changes by all servers. */
  start(): Promise<void>
}

/** Creates the counts. */
export function countTableChanges(database: Pick<Database, 'listen'>): TableChanges {
  const counts = { segments: 0, dynamic_configs: 0 } satisfies Record<WatchedTable, number>
  let listener: Listener | undefined
  return {
    catchUp: sharedRuns(async () => await listener?.catchUp()),
    countOf: (table) => (listener === undefined ? undefined : counts[table]),
    start: async () => {
      listener = await database.listen(tablesChannel, (changed) => {
        // If notifications may have been missed, any of them may have changed.
        for (const table of watchedTables) if (changed === undefined || changed === table) counts[table] += 1
      })
    },
  }
}
