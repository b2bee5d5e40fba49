/** What the historicals serve, followed from them. */
import { describeError } from '@svc/domain/failure'
import { type ServedSegmentsAnswer, servedSegmentsPath } from '@svc/shared/data-server'
import type { DiscoveredNode } from '@svc/shared/discovery'
import { createTroubleLog, growingDelay, type Loop, startLoop } from '@svc/shared/runtime'
import type { ServiceContext } from '@svc/shared/service'

/** Which historical serves which segments, followed from the historicals themselves. */
export interface ServedView {
  /** Whether the first list of every announced historical has come. */
  isInitialized(): boolean
  /** The servers that serve a segment and can be reached. */
  serversOf(segmentId: string): readonly DiscoveredNode[]
  /** How many servers are said to serve a segment, those included that do not answer at the moment. */
  replicasOf(segmentId: string): number
  segmentCount(): number
  /** The ids that a server serves. */
  servedBy(serverName: string): ReadonlySet<string>
  /** Whether the servers of a segment went away or cannot be reached, and nobody else serves it. */
  isLost(segmentId: string): boolean
  /** The segments that were served and that nobody who can be reached serves now; the oldest of very many are left out. */
  formerly(): Iterable<string>
  /** Resolves when the view holds all that the historicals which can be reached served at the moment of the call. */
  catchUp(): Promise<void>
  start(): void
  stop(): Promise<void>
}

interface FollowedServer {
  readonly node: DiscoveredNode
  readonly served: Set<string>
  synced: boolean
  reachable: boolean
  /** Asks for what has changed without waiting for a change. */
  catchUp(): Promise<void>
  stop(): Promise<void>
}

/** Told of every segment that a server begins or ends to serve. */
interface Holders {
  add(id: string, server: FollowedServer): void
  remove(id: string, server: FollowedServer, how: 'lost' | 'dropped'): void
}

// How long a historical holds its answer back while nothing changes.
const waitMs = 20_000
const lookPeriodMs = 500
// A query does not wait longer than this for one historical; the segments of one that is silent count as lost.
const catchUpMs = 2000
const mostFormer = 100_000

export function createServedView(context: ServiceContext): ServedView {
  const { discovery, logger, stopping } = context
  const followed = new Map<string, FollowedServer>()
  const holdersOf = new Map<string, readonly FollowedServer[]>()
  const formerly = new Map<string, 'lost' | 'dropped'>()
  let looks = 0
  let lookout: Loop | undefined

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
      if (formerly.size > mostFormer) formerly.delete(formerly.keys().next().value as string)
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
      logger.info('A historical has left; what it served is no longer looked for there', { historical: name })
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
      // Without the metadata store nobody joins or leaves: the servers known so far are looked at.
      await discovery.refresh().catch(() => undefined)
      look()
      await Promise.all([...followed.values()].map((server) => server.catchUp()))
    },
    start: () => {
      lookout = startLoop(
        lookPeriodMs,
        async () => look(),
        (error) => {
          if (!stopping.aborted)
            logger.warn('Historicals cannot be looked for', { error: describeError(error) })
        },
      )
    },
    stop: async () => {
      await lookout?.stop()
      await Promise.all([...followed.values()].map((server) => server.stop()))
    },
  }
}

/** Follows one historical as the escalator: the whole list first, then the changes. */
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

  /** Takes an answer over; of two that were under way at once, the later one may tell again what is known. */
  function take(answer: ServedSegmentsAnswer, askedFor: { counter: number; hash: string }): void {
    const told = answer.counter
    if (answer.resetCounter) {
      if (told.hash === hash && told.counter <= counter) return
      const ids = new Set(answer.requests.map(({ id }) => id))
      // A server that starts again may have lost what lay on its disk.
      for (const id of served) if (!ids.has(id)) remove(id, 'lost')
      for (const id of ids) add(id)
    } else {
      if (askedFor.hash !== hash || told.counter <= counter) return
      // Each change counts one up, so those that are known already are the first ones.
      for (const { action, id } of answer.requests.slice(counter - askedFor.counter)) {
        if (action === 'load') add(id)
        else remove(id, 'dropped')
      }
    }
    counter = told.counter
    hash = told.hash
  }

  async function ask(heldBackMs: number, timeoutMs: number): Promise<void> {
    const askedFor = { counter, hash }
    const answer = await client.call<ServedSegmentsAnswer>(node.baseUrl, {
      method: 'GET',
      path: `${servedSegmentsPath}?counter=${counter}&hash=${hash}&timeout=${heldBackMs}`,
      timeoutMs,
      signal: controller.signal,
    })
    if (controller.signal.aborted) return
    take(answer, askedFor)
    server.synced = true
    server.reachable = true
  }

  const server: FollowedServer = {
    node,
    served,
    synced: false,
    reachable: true,
    catchUp: () =>
      ask(0, catchUpMs).catch(() => {
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
      await ask(waitMs, waitMs + 10_000)
      delay.reset()
      trouble.over(`Historical [${node.name}] can be followed again`)
    },
    (error) => {
      if (stopping.aborted || controller.signal.aborted) return undefined
      server.reachable = false
      trouble.tell(`Historical [${node.name}] cannot be followed`, { error: describeError(error) })
      return delay.next()
    },
  )
  return server
}
