import { describeError } from '@svc/domain/failure'
import { type ServedSegmentsAnswer, servedSegmentsPath } from '@svc/shared/data-server'
import type { DiscoveredNode } from '@svc/shared/discovery'
import { createTroubleLog, growingDelay, type Loop, startLoop } from '@svc/shared/runtime'
import type { ServiceContext } from '@svc/shared/service'

/** Which historical serves which segments, followed from the historicals themselves. */
export interface ServedView {
  /** Whether the first list of every announced historical has come. */
  isInitialized(): boolean
  /** The servers that serve a segment. */
  serversOf(segmentId: string): readonly DiscoveredNode[]
  segmentCount(): number
  start(): void
  stop(): Promise<void>
}

interface FollowedServer {
  readonly node: DiscoveredNode
  readonly served: Set<string>
  synced: boolean
  stop(): Promise<void>
}

// How long a historical holds its answer back while nothing changes.
const waitMs = 20_000
const lookPeriodMs = 500

export function createServedView(context: ServiceContext): ServedView {
  const { discovery, logger, stopping } = context
  const followed = new Map<string, FollowedServer>()
  let looks = 0
  let lookout: Loop | undefined

  async function look(): Promise<void> {
    const announced = discovery.nodes('historical')
    for (const node of announced) if (!followed.has(node.name)) followed.set(node.name, follow(context, node))
    for (const [name, server] of followed) {
      if (announced.some((node) => node.name === name)) continue
      followed.delete(name)
      logger.info('A historical has left; what it served is no longer looked for there', { historical: name })
      void server.stop()
    }
    looks += 1
  }

  return {
    isInitialized: () => looks > 0 && [...followed.values()].every(({ synced }) => synced),
    serversOf: (segmentId) =>
      [...followed.values()].filter(({ served }) => served.has(segmentId)).map(({ node }) => node),
    segmentCount: () => {
      const distinct = new Set<string>()
      for (const { served } of followed.values()) for (const id of served) distinct.add(id)
      return distinct.size
    },
    start: () => {
      lookout = startLoop(lookPeriodMs, look, (error) => {
        if (!stopping.aborted)
          logger.warn('Historicals cannot be looked for', { error: describeError(error) })
      })
    },
    stop: async () => {
      await lookout?.stop()
      await Promise.all([...followed.values()].map((server) => server.stop()))
    },
  }
}

/** Follows one historical as the escalator: the whole list first, then the changes. */
function follow({ client, logger, stopping }: ServiceContext, node: DiscoveredNode): FollowedServer {
  const controller = new AbortController()
  const trouble = createTroubleLog(logger)
  const delay = growingDelay(50, 5000)
  const served = new Set<string>()
  let counter = -1
  let hash = ''
  const server: FollowedServer = {
    node,
    served,
    synced: false,
    stop: async () => {
      controller.abort()
      await loop.stop()
    },
  }
  const loop = startLoop(
    0,
    async () => {
      const answer = await client.call<ServedSegmentsAnswer>(node.baseUrl, {
        method: 'GET',
        path: `${servedSegmentsPath}?counter=${counter}&hash=${hash}&timeout=${waitMs}`,
        timeoutMs: waitMs + 10_000,
        signal: controller.signal,
      })
      if (answer.resetCounter) served.clear()
      for (const { action, id } of answer.requests) {
        if (action === 'load') served.add(id)
        else served.delete(id)
      }
      counter = answer.counter.counter
      hash = answer.counter.hash
      server.synced = true
      delay.reset()
      trouble.over(`Historical [${node.name}] can be followed again`)
    },
    (error) => {
      if (stopping.aborted || controller.signal.aborted) return undefined
      trouble.tell(`Historical [${node.name}] cannot be followed`, { error: describeError(error) })
      return delay.next()
    },
  )
  return server
}
