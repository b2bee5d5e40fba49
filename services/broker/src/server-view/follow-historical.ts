import { describeError } from '@svc/domain/failure'
import type { DiscoveredNode } from '@svc/shared/discovery'
import { createProblemLog, growingDelay, startLoop } from '@svc/shared/runtime'
import { type ServedSegmentsAnswer, servedSegmentsPath } from '@svc/shared/segment-serving'
import type { ServiceContext } from '@svc/shared/service'
import { type Departure, FollowedSegments } from './followed-segments.ts'

/** A historical whose segments this server follows. */
export interface FollowedServer {
  readonly node: DiscoveredNode
  readonly segments: FollowedSegments
  /** Whether its first list has arrived. */
  readonly synced: boolean
  readonly reachable: boolean
  /** Fetches changes without waiting for new ones. */
  catchUp(): Promise<void>
  stop(): Promise<void>
}

/** Is notified of every segment that a server starts or stops serving. */
export interface Holders {
  add(id: string, server: FollowedServer): void
  remove(id: string, server: FollowedServer, how: Departure): void
}

// How long a historical delays its response while nothing changes.
const waitMs = 20_000
// How long a query waits for one historical. The segments of a historical that does not respond count as lost.
const catchUpMs = 2000

/** Follows one historical as the escalator: first the full list of its segments, then the changes. */
export function followHistorical(
  { client, logger, stopping }: Pick<ServiceContext, 'client' | 'logger' | 'stopping'>,
  node: DiscoveredNode,
  holders: Holders,
): FollowedServer {
  const controller = new AbortController()
  const problemLog = createProblemLog(logger)
  const delay = growingDelay(50, 5000)
  let synced = false
  let reachable = true

  async function fetchChanges(heldBackMs: number, timeoutMs: number): Promise<void> {
    const requested = server.segments.position
    const { counter, hash } = requested
    const answer = await client.call<ServedSegmentsAnswer>(node.baseUrl, {
      method: 'GET',
      path: `${servedSegmentsPath}?counter=${counter}&hash=${hash}&timeout=${heldBackMs}`,
      timeoutMs,
      signal: controller.signal,
    })
    if (controller.signal.aborted) return
    server.segments.take(answer, requested)
    synced = true
    reachable = true
  }

  const server: FollowedServer = {
    node,
    segments: new FollowedSegments({
      add: (id) => holders.add(id, server),
      remove: (id, how) => holders.remove(id, server, how),
    }),
    get synced() {
      return synced
    },
    get reachable() {
      return reachable
    },
    catchUp: () =>
      fetchChanges(0, catchUpMs).catch(() => {
        reachable = false
        loop.wake()
      }),
    stop: async () => {
      controller.abort()
      await loop.stop()
    },
  }
  const loop = startLoop(
    0,
    async () => {
      await fetchChanges(waitMs, waitMs + 10_000)
      delay.reset()
      problemLog.over(`Resumed getting segment changes from historical [${node.name}]`)
    },
    (error) => {
      if (stopping.aborted || controller.signal.aborted) return undefined
      reachable = false
      problemLog.report(`Failed to get segment changes from historical [${node.name}]`, {
        error: describeError(error),
      })
      return delay.next()
    },
  )
  return server
}
