import type { LoadingServer } from './copies.ts'
import type { Plan } from './planner.ts'

/** A server whose holdings a test moves on by hand. */
export interface SimulatedServer extends LoadingServer {
  usedSizeBytes: number
  loadingSizeBytes: number
  decommissioning: boolean
  readonly served: Set<string>
  readonly loading: Set<string>
  readonly dropping: Set<string>
}

/** An empty server with unlimited room, unless `given` says otherwise. */
export function simulatedServer(
  given: Partial<SimulatedServer> & { readonly name: string },
): SimulatedServer {
  return {
    type: 'historical',
    tier: '_default_tier',
    maxSizeBytes: Number.MAX_SAFE_INTEGER,
    usedSizeBytes: 0,
    loadingSizeBytes: 0,
    decommissioning: false,
    served: new Set(),
    loading: new Set(),
    dropping: new Set(),
    ...given,
  }
}

/** Puts what the plan says into the queues of the servers; `sizeOf` tells the bytes of a segment. */
export function queuePlan(
  servers: readonly SimulatedServer[],
  plan: Plan,
  sizeOf: (segmentId: string) => number,
): void {
  const byName = new Map(servers.map((server) => [server.name, server]))
  for (const { server, segmentId } of plan.cancelledLoads) {
    if (byName.get(server)!.loading.delete(segmentId))
      byName.get(server)!.loadingSizeBytes -= sizeOf(segmentId)
  }
  for (const { server, segmentId } of plan.loads) {
    byName.get(server)!.loading.add(segmentId)
    byName.get(server)!.loadingSizeBytes += sizeOf(segmentId)
  }
  for (const { server, segmentId } of plan.drops) byName.get(server)!.dropping.add(segmentId)
}

/** Lets the servers finish those queued loads and drops for which `isDone` holds. */
export function workOff(
  servers: readonly SimulatedServer[],
  sizeOf: (segmentId: string) => number,
  isDone: () => boolean = () => true,
): void {
  for (const server of servers) {
    for (const segmentId of [...server.loading].filter(isDone)) {
      server.loading.delete(segmentId)
      server.served.add(segmentId)
      server.loadingSizeBytes -= sizeOf(segmentId)
      server.usedSizeBytes += sizeOf(segmentId)
    }
    for (const segmentId of [...server.dropping].filter(isDone)) {
      server.dropping.delete(segmentId)
      if (server.served.delete(segmentId)) server.usedSizeBytes -= sizeOf(segmentId)
    }
  }
}

/** Whether the plan sets nothing going. */
export function isEmptyPlan(plan: Plan): boolean {
  return plan.loads.length === 0 && plan.drops.length === 0 && plan.cancelledLoads.length === 0
}
