import type { ServiceContext } from '@svc/shared/service'
import { ReportWait } from './report-wait.ts'
import type { ServerInventory } from './server-inventory.ts'

/** A historical that the leader knows only by name and sometimes by tier. */
export interface UnknownServer {
  readonly name: string
  /** Undefined for a process whose servers are in different tiers. */
  readonly tier: string | undefined
}

/** Tracks whether the leader knows which segments the historicals of its cluster serve. */
export interface ReportedServers {
  /** Starts to wait for all historicals, for a new leader. */
  restart(): void
  /** Returns the historicals that have not reported all their segments to this leader. */
  awaited(): readonly UnknownServer[]
  /** Resolves when all historicals have reported or the wait times out. */
  reported(): Promise<void>
}

const pollMs = 25

/** Creates the tracker for historicals that discovery lists and historicals that a process has announced. */
export function watchReported(
  { discovery, stopping }: Pick<ServiceContext, 'discovery' | 'stopping'>,
  servers: Pick<ServerInventory, 'processes' | 'awaited'>,
): ReportedServers {
  const reportWait = new ReportWait()
  let discovered: Promise<void> | undefined

  const awaited = (): UnknownServer[] => {
    const stillAwaited = servers.awaited()
    const reporting = servers.processes()
    for (const { process } of stillAwaited) reporting.add(process)
    const silent = discovery
      .nodes('historical')
      .filter(({ name }) => !reporting.has(name))
      .map(({ name, details: { tier } }) => ({ name, tier: typeof tier === 'string' ? tier : undefined }))
    return [...stillAwaited, ...silent]
  }
  return {
    restart: () => {
      discovered = undefined
      reportWait.restart(performance.now())
    },
    awaited,
    reported: async () => {
      // A server that becomes the leader right after its start, or after it was cut off, must not wait only for the servers
      // that it knew before.
      discovered ??= discovery.refresh()
      await discovered.catch((error) => {
        discovered = undefined
        throw error
      })
      while (!stopping.aborted && reportWait.waitsFor(awaited().length, performance.now())) {
        await new Promise((resolve) => setTimeout(resolve, pollMs))
      }
    },
  }
}
