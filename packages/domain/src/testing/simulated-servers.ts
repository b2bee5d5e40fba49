import { copyFlag, SegmentTable } from '../inventory/index.ts'
import {
  type CopyList,
  type LoadingServer,
  PlacementPlanner,
  type PlanLimits,
  type Unplaced,
} from '../loading/index.ts'
import type { WantedCopies } from '../rules/index.ts'
import type { Segment } from '../segment/index.ts'

/** A server whose segments a test changes step by step. Segments are identified by id. */
export interface SimulatedServer extends Omit<LoadingServer, 'number' | 'queuedLoads'> {
  usedSizeBytes: number
  loadingSizeBytes: number
  decommissioning: boolean
  readonly served: Set<string>
  readonly loading: Set<string>
  readonly dropping: Set<string>
}

/** A replica of a segment on a server, by id and name. */
export interface NamedCopy {
  readonly server: string
  readonly segmentId: string
}

/** A plan with names of servers and ids of segments. */
export interface NamedPlan {
  readonly loads: readonly (NamedCopy & { readonly sizeBytes: number })[]
  readonly drops: readonly NamedCopy[]
  readonly cancelledLoads: readonly NamedCopy[]
}

/** Returns an empty server with unlimited room, unless `given` overrides that. */
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

/** Returns the servers for a run, numbered by their index. */
export function loadingServers(servers: readonly SimulatedServer[]): LoadingServer[] {
  return servers.map(({ served: _served, loading, dropping: _dropping, ...server }, number) => ({
    ...server,
    number,
    queuedLoads: loading.size,
  }))
}

/** Updates the table to the current state of the servers. */
function syncCopies(table: SegmentTable, servers: readonly SimulatedServer[]): void {
  servers.forEach(({ served, loading, dropping }, number) => {
    for (const id of new Set([...served, ...loading, ...dropping, ...heldIds(table, number)])) {
      const set =
        (served.has(id) ? copyFlag.served : 0) |
        (loading.has(id) ? copyFlag.loading : 0) |
        (dropping.has(id) ? copyFlag.dropping : 0)
      table.changeCopy(id, number, set, 255 & ~set)
    }
  })
}

function heldIds(table: SegmentTable, number: number): string[] {
  const { copies } = table
  const ids: string[] = []
  for (let entry = 0; entry < copies.limit; entry += 1)
    if (copies.serverOf[entry] === number) ids.push(table.idOf(copies.rowOf[entry]!))
  return ids
}

/** Returns a table with used segments and their state on the servers. */
export function tableOf(segments: readonly Segment[], servers: readonly SimulatedServer[]): SegmentTable {
  const table = new SegmentTable()
  for (const { interval, ...segment } of segments) table.put({ ...segment, ...interval })
  syncCopies(table, servers)
  return table
}

/** Returns the replicas in a list by server name and segment id. */
export function namedCopies(
  table: SegmentTable,
  servers: readonly { readonly name: string }[],
  { rows, servers: numbers }: CopyList,
): (NamedCopy & { readonly sizeBytes: number })[] {
  return rows.map((row, index) => ({
    server: servers[numbers[index]!]!.name,
    segmentId: table.idOf(row),
    sizeBytes: table.sizeOf[row]!,
  }))
}

/** Returns a planner for simulated servers that accepts segments by id and size. */
export function createPlanner(servers: readonly SimulatedServer[], limits: PlanLimits) {
  const table = tableOf([], servers)
  const planner = new PlacementPlanner(table, loadingServers(servers), limits)
  let partitionNum = 0
  return {
    planSegment: (
      { id, sizeBytes }: { readonly id: string; readonly sizeBytes: number },
      wanted: WantedCopies,
    ) => {
      partitionNum += 1
      table.put({
        id,
        dataSource: 'any',
        start: 0,
        end: 1,
        version: 'v1',
        partitionNum,
        partitions: 0,
        sizeBytes,
        totalRows: 1,
      })
      return planner.planSegment(table.rowOf(id), planner.prepare(wanted))
    },
    result: (): NamedPlan & {
      readonly unplaced: readonly (Pick<Unplaced, 'tier' | 'reason' | 'copies'> & {
        exampleSegmentId: string
      })[]
    } => {
      const plan = planner.take()
      return {
        loads: namedCopies(table, servers, plan.loads),
        drops: namedCopies(table, servers, plan.drops),
        cancelledLoads: namedCopies(table, servers, plan.cancelledLoads),
        unplaced: planner.allUnplaced().map(({ tier, reason, copies, exampleRow }) => ({
          tier,
          reason,
          copies,
          exampleSegmentId: table.idOf(exampleRow),
        })),
      }
    },
  }
}

/** Adds the plan to the queues of the servers. `sizeOf` returns the size of a segment in bytes. */
export function queuePlan(
  servers: readonly SimulatedServer[],
  plan: NamedPlan,
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

/** Finishes the queued loads and drops for which `isDone` returns true. */
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

/** Whether the plan contains no loads, drops, or cancellations. */
export function isEmptyPlan(plan: NamedPlan): boolean {
  return plan.loads.length === 0 && plan.drops.length === 0 && plan.cancelledLoads.length === 0
}
