import type { Segment } from '@svc/domain/segment'
import { formatInterval } from '@svc/domain/time'
import type { SegmentInventory } from './segment-inventory.ts'
import type { ServerInventory } from './server-inventory.ts'

/** A segment that at least one server serves. */
export interface ServedSegment {
  readonly segment: Segment
  /** The names of the servers. */
  readonly servers: readonly string[]
  /** The number of copies on historicals by tier. */
  readonly tiers: ReadonlyMap<string, number>
}

/** Bytes and number of segments. */
export interface SizeAndCount {
  readonly size: number
  readonly count: number
}

interface MutableServedSegment extends ServedSegment {
  readonly servers: string[]
  readonly tiers: Map<string, number>
}

/** The used segments that are served, by id, in the order of interval and id; only those of one datasource if named. */
export function servedSegments(
  segments: SegmentInventory,
  servers: ServerInventory,
  dataSource?: string,
): ServedSegment[] {
  const served = new Map<string, MutableServedSegment>()
  for (const server of servers.servers()) {
    for (const id of server.served) {
      const segment = segments.get(id)
      if (!segment || (dataSource !== undefined && segment.dataSource !== dataSource)) continue
      let entry = served.get(id)
      if (!entry) {
        entry = { segment, servers: [], tiers: new Map() }
        served.set(id, entry)
      }
      entry.servers.push(server.name)
      if (server.type === 'historical') entry.tiers.set(server.tier, (entry.tiers.get(server.tier) ?? 0) + 1)
    }
  }
  return [...served.values()].sort(
    (a, b) => a.segment.interval.start - b.segment.interval.start || (a.segment.id < b.segment.id ? -1 : 1),
  )
}

/** Bytes and number of segments by interval, the newest interval first. */
export function sizesByInterval(served: readonly ServedSegment[]): Record<string, SizeAndCount> {
  const groups = Map.groupBy([...served].reverse(), ({ segment }) => formatInterval(segment.interval))
  return Object.fromEntries([...groups].map(([interval, members]) => [interval, sizeAndCount(members)]))
}

/** Bytes and number of segments. */
export function sizeAndCount(served: readonly ServedSegment[]): SizeAndCount {
  return { size: served.reduce((sum, { segment }) => sum + segment.sizeBytes, 0), count: served.length }
}
