import type { ServiceContext } from '@svc/shared/service'
import { Patience } from './patience.ts'
import type { ServerInventory } from './server-inventory.ts'

/** A historical that is there and that the leader knows nothing of but its tier, if that. */
export interface UnknownServer {
  readonly name: string
  /** Undefined for a process whose servers have tiers of their own. */
  readonly tier: string | undefined
}

/** Whether a leader knows what the historicals of its cluster serve. */
export interface ReportedServers {
  /** A new leader begins to wait for all of them. */
  restart(): void
  /** Those that have not told this leader all that they serve. */
  awaited(): readonly UnknownServer[]
  /** Resolves when there are none of them, or when they have had their time. */
  reported(): Promise<void>
}

const lookAgainMs = 25

/** Watches who has reported, of those that are announced and those of which a process has told. */
export function watchReported(
  { discovery, stopping }: Pick<ServiceContext, 'discovery' | 'stopping'>,
  servers: Pick<ServerInventory, 'servers' | 'awaited'>,
): ReportedServers {
  const patience = new Patience()

  const awaited = (): UnknownServer[] => {
    const told = servers.awaited()
    const reporting = new Set([...servers.servers(), ...told].map(({ process }) => process))
    const silent = discovery
      .nodes('historical')
      .filter(({ name }) => !reporting.has(name))
      .map(({ name, details: { tier } }) => ({ name, tier: typeof tier === 'string' ? tier : undefined }))
    return [...told, ...silent]
  }
  return {
    restart: () => patience.restart(performance.now()),
    awaited,
    reported: async () => {
      while (!stopping.aborted && patience.waitsFor(awaited().length, performance.now())) {
        await new Promise((resolve) => setTimeout(resolve, lookAgainMs))
      }
    },
  }
}
