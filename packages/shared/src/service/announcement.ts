import type { Discovery } from '../discovery/index.ts'
import type { AnnouncedNode } from '../postgres/index.ts'
import type { Logger, Readiness } from '../runtime/index.ts'
import { retryWhileStoreIsUnavailable } from './retry-while-store-is-unavailable.ts'

/** Announces this server to the others after its startup, and only while they can connect to it. */
export interface Announcement {
  /** Announces this server, now or as soon as others can connect to it. Then reads which other servers there are. */
  begin(): Promise<void>
  /** Call this when others can connect to this server again, or no longer can. */
  reachableChanged(reachable: boolean): void
}

/** Creates the announcement of a server, which lasts from `begin` until the server stops. */
export function createAnnouncement(
  discovery: Pick<Discovery, 'announce' | 'refresh' | 'withdraw'>,
  readiness: Pick<Readiness, 'isReachable'>,
  node: () => AnnouncedNode,
  waits: { readonly logger: Logger; readonly stopping: AbortSignal },
): Announcement {
  let mayBeKnown = false
  return {
    begin: async () => {
      // Set before the write, so that changes during the write are not lost.
      mayBeKnown = true
      await retryWhileStoreIsUnavailable(async () => {
        if (readiness.isReachable()) await discovery.announce(node())
        await discovery.refresh()
      }, waits)
    },
    reachableChanged: (reachable) => {
      if (!mayBeKnown || waits.stopping.aborted) return
      if (!reachable) discovery.withdraw()
      // If the store is unavailable, the next heartbeat announces the server.
      else discovery.announce(node()).catch(() => undefined)
    },
  }
}
