import type { ServiceContext } from '@svc/shared/service'
import type { ServerInventory } from './server-inventory.ts'

/** A data server that is announced, and of which the leader knows no more than its tier. */
export interface AwaitedServer {
  readonly name: string
  readonly tier: string
}

// A new leader gives the servers this long to report before it decides without them: otherwise it would take all
// that the slow ones hold for missing.
const patienceMs = 8000
const lookAgainMs = 25

/** The announced historicals that have not reported to this leader, or have gone silent. */
export function awaitedServers(
  { discovery }: Pick<ServiceContext, 'discovery'>,
  servers: ServerInventory,
): AwaitedServer[] {
  const reporting = new Set(servers.servers().map(({ process }) => process))
  return discovery
    .nodes('historical')
    .flatMap(({ name, details: { tier } }) =>
      reporting.has(name) || typeof tier !== 'string' ? [] : [{ name, tier }],
    )
}

/** Resolves when every announced historical has reported to this leader, or has had its time since it leads. */
export async function untilServersReported(
  context: Pick<ServiceContext, 'discovery' | 'stopping'>,
  servers: ServerInventory,
  leadsSinceMs: number,
): Promise<void> {
  while (performance.now() - leadsSinceMs < patienceMs && !context.stopping.aborted) {
    if (awaitedServers(context, servers).length === 0) return
    await new Promise((resolve) => setTimeout(resolve, lookAgainMs))
  }
}
