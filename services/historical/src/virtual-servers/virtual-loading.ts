import type { Faults } from '@svc/shared/faults'
import type { RequestBatch, SegmentRequest } from '@svc/shared/redis'
import type { VirtualCluster } from './virtual-cluster.ts'
import type { QueuedRequest, VirtualServer } from './virtual-server.ts'

/** How virtual servers load and drop segments: without data, but in the time that real servers take. */
export interface VirtualLoading {
  /** Adds the requests of a batch to the queue of its server. */
  enqueue(batch: RequestBatch): void
  /** Executes the requests that are done by now, and restarts killed servers. */
  advance(): void
}

/** Creates the loading of the servers of a virtual cluster. */
export function createVirtualLoading(cluster: VirtualCluster, faults: Pick<Faults, 'at'>): VirtualLoading {
  const durationMs = ({ name, group }: VirtualServer, request: SegmentRequest): number =>
    request.action === 'load'
      ? (1000 * request.payload.size) / group.bytesPerSecond + faults.at(name).diskDelayMs()
      : 0

  function enqueue(batch: RequestBatch): void {
    const server = cluster.get(batch.server)
    if (!server || server.livesAgainAtMs > 0) return
    if (batch.session !== server.served.session || server.leader.isVoid(batch)) return
    server.leader.noteLeader(batch.term)
    const stamp = { term: batch.term, sentAtMs: batch.sentAtMs }
    const faulty = faults.at(server.name)
    for (const request of batch.requests) {
      const comesAtMs = performance.now() + faulty.requestDelayMs()
      if (server.queue.length === 0) server.headDoneAtMs = comesAtMs + durationMs(server, request)
      server.queue.push({ request, stamp, comesAtMs })
    }
  }

  function executeDone(server: VirtualServer, nowMs: number): void {
    let done = 0
    while (done < server.queue.length && server.headDoneAtMs <= nowMs) {
      const { request, stamp } = server.queue[done] as QueuedRequest
      done += 1
      // Leaders decide based on what is served here now.
      if (!server.leader.isVoid(stamp)) execute(cluster, server, request)
      const next = server.queue[done]
      if (next)
        server.headDoneAtMs = Math.max(server.headDoneAtMs, next.comesAtMs) + durationMs(server, next.request)
    }
    if (done > 0) server.queue.splice(0, done)
  }

  return {
    enqueue,
    advance: () => {
      const nowMs = performance.now()
      for (const server of cluster.servers()) {
        if (server.livesAgainAtMs === 0) executeDone(server, nowMs)
        else if (server.livesAgainAtMs <= nowMs) cluster.revive(server)
      }
    },
  }
}

function execute(cluster: VirtualCluster, server: VirtualServer, request: SegmentRequest): void {
  if (request.action === 'drop') {
    cluster.drop(server, request.id)
    return
  }
  const { identifier: id, size } = request.payload
  if (Math.random() < server.group.failureProbability) {
    server.log.noteFailure({
      id,
      action: 'load',
      message: 'Simulated failure (configured with [failureProbability])',
    })
    return
  }
  cluster.load(server, id, size)
}
