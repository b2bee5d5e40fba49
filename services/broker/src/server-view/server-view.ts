import { describeError } from '@svc/domain/failure'
import type { DiscoveredNode } from '@svc/shared/discovery'
import { keepNewest, type Loop, startLoop } from '@svc/shared/runtime'
import type { ServiceContext } from '@svc/shared/service'
import { type FollowedServer, followHistorical, type Holders } from './follow-historical.ts'
import type { Departure } from './followed-segments.ts'

/** A view of which historical serves which segments. */
export interface ServerView {
  /** Whether the view has received the first list from every announced historical. */
  isInitialized(): boolean
  /** Returns the reachable servers that serve a segment. */
  serversOf(segmentId: string): readonly DiscoveredNode[]
  /** Returns how many servers serve a segment, including servers that are not reachable at the moment. */
  replicasOf(segmentId: string): number
  segmentCount(): number
  /** Returns the ids of the segments that a server serves. */
  servedBy(serverName: string): ReadonlySet<string>
  /** Whether a segment is unavailable because all its servers left or are unreachable. */
  isLost(segmentId: string): boolean
  /** Returns the segments that were served before and that no reachable server serves now. */
  formerly(): Iterable<string>
  /** Forgets a former segment that no query needs anymore. */
  forget(segmentId: string): void
  /** Resolves when the view includes everything that reachable historicals served at the time of the call. */
  catchUp(): Promise<void>
  start(): void
  stop(): Promise<void>
}

const pollPeriodMs = 500
// Dropped segments matter only until their replacements are served. Lost segments are not limited: forgetting a segment
// that is still used would make results incomplete.
const maxDropped = 100_000

/** Which servers serve each segment, and which segments were served before. */
class SegmentServers implements Holders {
  readonly bySegment = new Map<string, readonly FollowedServer[]>()
  private readonly lost = new Set<string>()
  private readonly dropped = new Map<string, true>()

  add(id: string, server: FollowedServer): void {
    this.bySegment.set(id, [...(this.bySegment.get(id) ?? []), server])
    this.forget(id)
  }

  remove(id: string, server: FollowedServer, how: Departure): void {
    const left = (this.bySegment.get(id) ?? []).filter((other) => other !== server)
    if (left.length > 0) {
      this.bySegment.set(id, left)
      return
    }
    this.bySegment.delete(id)
    this.forget(id)
    if (how === 'lost') this.lost.add(id)
    else keepNewest(this.dropped, id, true, maxDropped)
  }

  *formerly(): Generator<string> {
    yield* this.lost
    yield* this.dropped.keys()
  }

  forget(id: string): void {
    this.lost.delete(id)
    this.dropped.delete(id)
  }

  isLost(id: string): boolean {
    const servers = this.bySegment.get(id)
    return servers ? servers.every(({ reachable }) => !reachable) : this.lost.has(id)
  }
}

export function createServerView(
  context: Pick<ServiceContext, 'client' | 'discovery' | 'logger' | 'stopping'>,
): ServerView {
  const { discovery, logger, stopping } = context
  const followed = new Map<string, FollowedServer>()
  const servers = new SegmentServers()
  let looks = 0
  let pollLoop: Loop | undefined

  function look(): void {
    const announced = discovery.nodes('historical')
    for (const node of announced) {
      if (!followed.has(node.name)) followed.set(node.name, followHistorical(context, node, servers))
    }
    for (const [name, server] of followed) {
      if (announced.some((node) => node.name === name)) continue
      followed.delete(name)
      logger.info('Historical left the cluster', { historical: name })
      void server.stop()
      server.segments.clear()
    }
    looks += 1
  }

  return {
    isInitialized: () => looks > 0 && [...followed.values()].every(({ synced }) => synced),
    serversOf: (segmentId) =>
      (servers.bySegment.get(segmentId) ?? []).filter(({ reachable }) => reachable).map(({ node }) => node),
    replicasOf: (segmentId) => servers.bySegment.get(segmentId)?.length ?? 0,
    segmentCount: () => servers.bySegment.size,
    servedBy: (serverName) => followed.get(serverName)?.segments.ids ?? new Set(),
    isLost: (segmentId) => servers.isLost(segmentId),
    *formerly() {
      yield* servers.formerly()
      for (const { reachable, segments } of followed.values()) {
        if (reachable) continue
        for (const id of segments.ids) if (servers.bySegment.has(id) && servers.isLost(id)) yield id
      }
    },
    forget: (segmentId) => servers.forget(segmentId),
    catchUp: async () => {
      // While the metadata store is unavailable, use the servers known so far.
      await discovery.refresh().catch(() => undefined)
      look()
      await Promise.all([...followed.values()].map((server) => server.catchUp()))
    },
    start: () => {
      pollLoop = startLoop(
        pollPeriodMs,
        async () => look(),
        (error) => {
          if (!stopping.aborted)
            logger.warn('Failed to discover historicals', { error: describeError(error) })
        },
      )
    },
    stop: async () => {
      await pollLoop?.stop()
      await Promise.all([...followed.values()].map((server) => server.stop()))
    },
  }
}
