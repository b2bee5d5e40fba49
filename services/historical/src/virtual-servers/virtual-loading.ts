import type { Faults } from '@svc/shared/faults'
import type { RequestBatch, SegmentRequest } from '@svc/shared/redis'
import type { SegmentNumbers } from './segment-numbers.ts'
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
  const { numbers } = cluster
  const durationMs = ({ name, group }: VirtualServer, { action, segment }: QueuedRequest): number =>
    action === 'load'
      ? (1000 * numbers.sizeOf(segment)) / group.bytesPerSecond + faults.at(name).diskDelayMs()
      : 0

  function enqueue(batch: RequestBatch): void {
    const server = cluster.get(batch.server)
    if (!server || server.livesAgainAtMs > 0) return
    if (batch.session !== server.served.session || server.leader.isVoid(batch)) return
    server.leader.noteLeader(batch.term)
    const stamp = { term: batch.term, sentAtMs: batch.sentAtMs }
    const faulty = faults.at(server.name)
    for (const request of batch.requests) {
      const segment = takeNumber(numbers, request)
      if (segment < 0) continue
      const comesAtMs = performance.now() + faulty.requestDelayMs()
      const queued: QueuedRequest = { action: request.action, segment, stamp, comesAtMs }
      if (server.queue.length === 0) server.headDoneAtMs = comesAtMs + durationMs(server, queued)
      server.queue.push(queued)
    }
  }

  function executeDone(server: VirtualServer, nowMs: number): void {
    let done = 0
    while (done < server.queue.length && server.headDoneAtMs <= nowMs) {
      const request = server.queue[done] as QueuedRequest
      done += 1
      // Leaders decide based on what is served here now.
      if (!server.leader.isVoid(request.stamp)) execute(cluster, server, request)
      numbers.release(request.segment)
      const next = server.queue[done]
      if (next) server.headDoneAtMs = Math.max(server.headDoneAtMs, next.comesAtMs) + durationMs(server, next)
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

/** Returns the number of the segment of a request, or -1 for a drop of a segment that no virtual server has or loads. */
function takeNumber(numbers: SegmentNumbers, request: SegmentRequest): number {
  if (request.action === 'load') return numbers.take(request.id, request.sizeBytes)
  const segment = numbers.find(request.id)
  if (segment >= 0) numbers.keep(segment)
  return segment
}

function execute(cluster: VirtualCluster, server: VirtualServer, { action, segment }: QueuedRequest): void {
  if (action === 'drop') {
    cluster.drop(server, segment)
    return
  }
  if (Math.random() < server.group.failureProbability) {
    server.log.noteFailure({
      id: cluster.numbers.idOf(segment),
      action: 'load',
      message: 'Simulated failure (configured with [failureProbability])',
    })
    return
  }
  cluster.load(server, segment)
}
