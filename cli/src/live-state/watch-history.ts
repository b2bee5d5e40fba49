import { isJsonObject, type JsonObject } from '@svc/domain/validation'
import type { ClusterClient } from '../client/index.ts'
import type { Change } from '../declared-state/index.ts'
import { entryPath } from './paths.ts'
import { valueIn } from './read-live-state.ts'

interface HistoryEntry {
  readonly auditTime: string
  /** Null if the entry was removed. */
  readonly json: JsonObject | null
}

/** Returns the values that an entry got between the start of a watch and now, oldest first. One may be the own write. */
export type FinishWatch = () => Promise<(change: Change) => readonly unknown[]>

// More than others write between a read and a write.
const maxEntries = 10

/**
 * Reads the history of an entry, or of the configuration of several fields, before it is read and written. A cluster of svc refuses to
 * overwrite what others have written since the read. Druid has no conditional writes, and its histories are those of rules, of
 * the coordinator's configuration, and of the compaction of datasources, which does not show removals.
 */
export async function watchHistory(client: ClusterClient, unit: readonly Change[]): Promise<FinishWatch> {
  const { kind, path } = unit[0]!
  const hasHistory = kind === 'rules' || kind === 'coordinator' || kind === 'compactionDatasources'
  if (client.interfaceName === 'svc' || !hasHistory) return async () => () => []
  // Counts are for the changes of all datasources, and not for those of one.
  const query = kind === 'compactionDatasources' ? '' : `?count=${maxEntries}`
  const read = async (): Promise<readonly HistoryEntry[]> =>
    entriesIn(await client.send('GET', `${entryPath(kind, path)}/history${query}`))
  const textOf = (entry: HistoryEntry): string => JSON.stringify(entry)
  const before = new Set((await read()).map(textOf))
  return async () => {
    const added = (await read()).filter((entry) => !before.has(textOf(entry)))
    const ordered = added.toSorted((a, b) => (a.auditTime < b.auditTime ? -1 : 1))
    return (change) =>
      ordered.map(({ json }) => (json === null ? undefined : valueIn(change.kind, change.path, json)))
  }
}

/** The entries of a history. Rules and the coordinator's configuration are text; the history of compaction is an object. */
function entriesIn(history: unknown): HistoryEntry[] {
  const entries = isJsonObject(history) ? history.entries : history
  return (entries as JsonObject[]).map(({ auditTime, payload, compactionConfig }) => ({
    auditTime: String(auditTime),
    json: (typeof payload === 'string' ? JSON.parse(payload) : compactionConfig) as JsonObject | null,
  }))
}
