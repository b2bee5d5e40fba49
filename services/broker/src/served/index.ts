/** A view of the segments that the historicals serve, kept up to date by following each historical. */
import { describeError } from '@svc/domain/failure'
import { type ServedSegmentsAnswer, servedSegmentsPath } from '@svc/shared/data-server'
import type { DiscoveredNode } from '@svc/shared/discovery'
import { createTroubleLog, growingDelay, type Loop, startLoop } from '@svc/shared/runtime'
import type { ServiceContext } from '@svc/shared/service'

/** A view of which historical serves which segments. */
export interface ServedView {
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
  /** Returns the segments that were served before and that no reachable server serves now. The number is limited. */
  formerly(): Iterable<string>
  /** Resolves when the view includes everything that reachable historicals served at the time of the call. */
  catchUp(): Promise<void>
  start(): void
  stop(): Promise<void>
}

interface FollowedServer {
  readonly node: DiscoveredNode
  readonly served: Set<string>
  synced: boolean
  reachable: boolean
  /** Fetches changes without waiting for new ones. */
  catchUp(): Promise<void>
  stop(): Promise<void>
}

/** Called for every segment that a server starts or stops serving. */
interface Holders {
  add(id: string, server: FollowedServer): void
  remove(id: string, server: FollowedServer, how: 'lost' | 'dropped'): void
}

// How long a historical delays its response while nothing changes.
const waitMs = 20_000
const pollPeriodMs = 500
// How long a query waits for one historical. The segments of a historical that does not respond count as lost.
const catchUpMs = 2000
const maxFormerHolders = 100_000

export function createServedView(context: ServiceContext): ServedView {
  const { discovery, logger, stopping } = context
  const followed = new Map<string, FollowedServer>()
  const holdersOf = new Map<string, readonly FollowedServer[]>()
  const formerly = new Map<string, 'lost' | 'dropped'>()
  let looks = 0
  let pollLoop: Loop | undefined

  const holders: Holders = {
    add: (id, server) => {
      holdersOf.set(id, [...(holdersOf.get(id) ?? []), server])
      formerly.delete(id)
    },
    remove: (id, server, how) => {
      const left = (holdersOf.get(id) ?? []).filter((other) => other !== server)
      if (left.length > 0) {
        holdersOf.set(id, left)
        return
      }
      holdersOf.delete(id)
      formerly.delete(id)
      formerly.set(id, how)
      if (formerly.size > maxFormerHolders) formerly.delete(formerly.keys().next().value as string)
    },
  }

  function look(): void {
    const announced = discovery.nodes('historical')
    for (const node of announced) {
      if (!followed.has(node.name)) followed.set(node.name, follow(context, node, holders))
    }
    for (const [name, server] of followed) {
      if (announced.some((node) => node.name === name)) continue
      followed.delete(name)
      logger.info('Historical left', { historical: name })
      void server.stop()
      for (const id of server.served) holders.remove(id, server, 'lost')
      server.served.clear()
    }
    looks += 1
  }

  return {
    isInitialized: () => looks > 0 && [...followed.values()].every(({ synced }) => synced),
    serversOf: (segmentId) =>
      (holdersOf.get(segmentId) ?? []).filter(({ reachable }) => reachable).map(({ node }) => node),
    replicasOf: (segmentId) => holdersOf.get(segmentId)?.length ?? 0,
    segmentCount: () => holdersOf.size,
    servedBy: (serverName) => followed.get(serverName)?.served ?? new Set(),
    isLost: (segmentId) => {
      const holding = holdersOf.get(segmentId)
      return holding ? holding.every(({ reachable }) => !reachable) : formerly.get(segmentId) === 'lost'
    },
    *formerly() {
      yield* formerly.keys()
      for (const { reachable, served } of followed.values()) {
        if (reachable) continue
        for (const id of served) if (holdersOf.get(id)?.every((server) => !server.reachable)) yield id
      }
    },
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

/** Follows one historical as the escalator: first the full list of its segments, then the changes. */
function follow(context: ServiceContext, node: DiscoveredNode, holders: Holders): FollowedServer {
  const { client, logger, stopping } = context
  const controller = new AbortController()
  const trouble = createTroubleLog(logger)
  const delay = growingDelay(50, 5000)
  const served = new Set<string>()
  let counter = -1
  let hash = ''

  const add = (id: string): void => {
    if (served.has(id)) return
    served.add(id)
    holders.add(id, server)
  }
  const remove = (id: string, how: 'lost' | 'dropped'): void => {
    if (served.delete(id)) holders.remove(id, server, how)
  }

  /** Applies a response. Of two concurrent requests, the second response may repeat changes that were already applied. */
  function take(answer: ServedSegmentsAnswer, requested: { counter: number; hash: string }): void {
    const reported = answer.counter
    if (answer.resetCounter) {
      if (reported.hash === hash && reported.counter <= counter) return
      const ids = new Set(answer.requests.map(({ id }) => id))
      // A restarted server may have lost segments on its disk.
      for (const id of served) if (!ids.has(id)) remove(id, 'lost')
      for (const id of ids) add(id)
    } else {
      if (requested.hash !== hash || reported.counter <= counter) return
      // Each change increments the counter, so changes that are already applied come first.
      for (const { action, id } of answer.requests.slice(counter - requested.counter)) {
        if (action === 'load') add(id)
        else remove(id, 'dropped')
      }
    }
    counter = reported.counter
    hash = reported.hash
  }

  async function fetchChanges(heldBackMs: number, timeoutMs: number): Promise<void> {
    const requested = { counter, hash }
    const answer = await client.call<ServedSegmentsAnswer>(node.baseUrl, {
      method: 'GET',
      path: `${servedSegmentsPath}?counter=${counter}&hash=${hash}&timeout=${heldBackMs}`,
      timeoutMs,
      signal: controller.signal,
    })
    if (controller.signal.aborted) return
    take(answer, requested)
    server.synced = true
    server.reachable = true
  }

  const server: FollowedServer = {
    node,
    served,
    synced: false,
    reachable: true,
    catchUp: () =>
      fetchChanges(0, catchUpMs).catch(() => {
        server.reachable = false
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
      trouble.over(`Resumed following historical [${node.name}]`)
    },
    (error) => {
      if (stopping.aborted || controller.signal.aborted) return undefined
      server.reachable = false
      trouble.report(`Failed to follow historical [${node.name}]`, { error: describeError(error) })
      return delay.next()
    },
  )
  return server
}
