import type { ClusterClient } from '../client/index.ts'
import type { Change } from '../declared-state/index.ts'
import { entryPath } from './paths.ts'

interface HistoryEntry {
  readonly auditTime: string
  readonly payload: string
}

/**
 * Reads the history of an entry before it is written. Returns a function that checks, after one write, whether someone else
 * changed the entry in between. A cluster of svc refuses such a write; Druid has no conditional writes, and a history only of
 * rules and of the coordinator's configuration.
 */
export async function watchHistory(
  client: ClusterClient,
  { kind, path }: Change,
): Promise<() => Promise<boolean>> {
  if (client.interfaceName === 'svc' || (kind !== 'rules' && kind !== 'coordinator')) return async () => false
  const newest = async (count: number): Promise<readonly (string | undefined)[]> => {
    const found = await client.send('GET', `${entryPath(kind, path)}/history?count=${count}`)
    const entries = (found as HistoryEntry[]).map(({ auditTime, payload }) => `${auditTime} ${payload}`)
    return [...entries, undefined]
  }
  const [before] = await newest(1)
  return async () => {
    const [, replaced] = await newest(2)
    return replaced !== before
  }
}
