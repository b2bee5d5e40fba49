import type { Discovery } from '../discovery/index.ts'
import type { AnnouncedNode } from '../postgres/index.ts'
import type { Logger, Readiness } from '../runtime/index.ts'
import { retryWhileStoreIsAway } from './retry-while-store-is-away.ts'

/** Whether the other servers know of this one: only while they can connect to it, and from its start on. */
export interface Announcement {
  /** Makes this server known, or leaves that to the time when others can connect to it. */
  begin(): Promise<void>
  /** Is told when others can connect to this server again, or no longer. */
  reachableChanged(reachable: boolean): void
}

/** Announces a server, from `begin` on until it is stopping. */
export function createAnnouncement(
  discovery: Pick<Discovery, 'announce' | 'withdraw'>,
  readiness: Pick<Readiness, 'isReachable'>,
  node: () => AnnouncedNode,
  waits: { readonly logger: Logger; readonly stopping: AbortSignal },
): Announcement {
  let mayBeKnown = false
  return {
    begin: async () => {
      // From here on, with nothing in between: a change while the store is written to must not be lost.
      mayBeKnown = true
      await retryWhileStoreIsAway(async () => {
        if (readiness.isReachable()) await discovery.announce(node())
      }, waits)
    },
    reachableChanged: (reachable) => {
      if (!mayBeKnown || waits.stopping.aborted) return
      if (!reachable) discovery.withdraw()
      // Where the store is away, the next heartbeat tells it.
      else discovery.announce(node()).catch(() => undefined)
    },
  }
}
