import type { ServiceContext } from '@svc/shared/service'
import type { ServerInventory } from './inventory/index.ts'

// A new leader gives the servers this long to report before it decides without them: otherwise it would take all
// that the slow ones hold for missing.
const patienceMs = 5000
const lookAgainMs = 25

/** Resolves when every announced historical has reported to this leader, or has had its time since it leads. */
export async function untilServersReported(
  { discovery, stopping }: ServiceContext,
  servers: ServerInventory,
  leadsSinceMs: number,
): Promise<void> {
  while (performance.now() - leadsSinceMs < patienceMs && !stopping.aborted) {
    if (discovery.nodes('historical').every(({ name }) => servers.get(name))) return
    await new Promise((resolve) => setTimeout(resolve, lookAgainMs))
  }
}
