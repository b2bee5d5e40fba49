import type { LoadingServer } from '../loading/index.ts'
import { formatInstant } from '../time/index.ts'
import type { AwaitedServer, ExplainedCluster, LostServer, ServerFinding } from './segment-explanation.ts'

/**
 * Returns the servers that the next run plans for. A server that has not reported yet makes its tier count as a tier with
 * servers, but gets no loads.
 */
export function plannedServers({ servers, awaited }: ExplainedCluster): readonly LoadingServer[] {
  const placed = awaited.filter(({ tier }) => tier !== undefined)
  const first = servers.reduce((next, { number }) => Math.max(next, number + 1), 0)
  return [
    ...servers,
    ...placed.map(
      ({ name, tier }, index): LoadingServer => ({
        number: first + index,
        name,
        type: 'historical',
        tier: tier!,
        maxSizeBytes: 0,
        usedSizeBytes: 0,
        loadingSizeBytes: 0,
        queuedLoads: 0,
        decommissioning: false,
      }),
    ),
  ]
}

/** Returns what is known about a server that has not reported its segments to this leader. */
export const explainAwaited = ({ name, tier }: AwaitedServer): ServerFinding => ({
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
