import type { Database } from './database.ts'

/** Notifications about committed changes, with the name of the table. */
const tablesChannel = 'svc_tables'

const watchedTables = ['segments', 'dynamic_configs'] as const

/** A table whose changes the metadata store reports. */
export type WatchedTable = (typeof watchedTables)[number]

/** Counts changes to tables of the metadata store, so that a reader knows whether what it has read is still current. */
export interface TableChanges {
  /** Returns a number that grows with each change; undefined before `start`. */
  countOf(table: WatchedTable): number | undefined
  /** Counts a change that this server makes. The metadata store reports it, too, but a moment after the commit. */
  note(table: WatchedTable): void
  /** Starts to listen for changes by all servers. */
  start(): Promise<void>
}

/** Creates the counts. */
export function countTableChanges(database: Pick<Database, 'listen'>): TableChanges {
  const counts = { segments: 0, dynamic_configs: 0 } satisfies Record<WatchedTable, number>
  let isListening = false
  const note = (table: WatchedTable): void => {
    counts[table] += 1
  }
  return {
    countOf: (table) => (isListening ? counts[table] : undefined),
    note,
    start: async () => {
      await database.listen(tablesChannel, (changed) => {
        // After a reconnect, any of them may have changed.
        for (const table of watchedTables) if (changed === undefined || changed === table) note(table)
      })
      isListening = true
    },
  }
}
