import { type LoadingServer, placeholdersOf, type UnreportedServer } from '../loading/index.ts'
import { formatInstant } from '../time/index.ts'
import type { ExplainedCluster, LostServer, ServerFinding } from './segment-explanation.ts'

/** Returns the servers that the next run plans for. */
export function plannedServers({ servers, clones, awaited }: ExplainedCluster): readonly LoadingServer[] {
  if (awaited.length === 0) return servers
  const numbers = [...servers, ...clones.map(({ target }) => target)].map(({ number }) => number)
  let next = numbers.reduce((first, number) => Math.max(first, number + 1), 0)
  return [...servers, ...placeholdersOf(awaited, () => next++)]
}

/** Returns what is known about a server that has not reported its segments to this leader. */
export const explainAwaited = ({ name, tier }: UnreportedServer): ServerFinding => ({
  server: name,
  tier: tier ?? '',
  state: 'unknown',
  text: 'Has not reported its segments to this leader yet',
})

/** Returns what is known about a server that stopped reporting. */
export const explainLost = ({ name, tier, lastSeenAt }: LostServer): ServerFinding => ({
  server: name,
  tier,
  state: 'unknown',
  text: `Stopped reporting: it was last seen at ${formatInstant(lastSeenAt)}, and its replicas no longer count`,
})
