import { copyFlag } from '@svc/domain/inventory'
import type { Segment } from '@svc/domain/segment'
import { formatInterval } from '@svc/domain/time'
import type { SegmentInventory } from './segment-inventory.ts'
import type { ServerInventory, ServerState } from './server-inventory.ts'

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

/** The used segments that are served, in the order of interval and id; only those of one datasource if named. */
export function servedSegments(
  { table }: SegmentInventory,
  servers: ServerInventory,
  dataSource?: string,
): ServedSegment[] {
  const { copies } = table
  const ordered = servers.servers()
  const places = new Map(ordered.map(({ number }, place) => [number, place]))
  const numbers =
    dataSource === undefined ? table.datasourceNames.keys() : [table.datasourceNumber(dataSource)]
  const found: ServedSegment[] = []
  for (const number of numbers) {
    if (number < 0) continue
    for (const group of table.groupsOf(number)) {
      table.forEachRow(group, (row) => {
        const holders: number[] = []
        for (let entry = copies.firstOf[row] as number; entry >= 0; entry = copies.nextOf[entry] as number) {
          const place = places.get(copies.serverOf[entry] as number)
          if (place !== undefined && ((copies.flagsOf[entry] as number) & copyFlag.served) !== 0)
            holders.push(place)
        }
        if (holders.length === 0) return
        const members = holders.sort((a, b) => a - b).map((place) => ordered[place] as ServerState)
        found.push({
          segment: table.segment(row),
          servers: members.map(({ name }) => name),
          tiers: tiersOf(members),
        })
      })
    }
  }
  return found.sort(
    (a, b) => a.segment.interval.start - b.segment.interval.start || (a.segment.id < b.segment.id ? -1 : 1),
  )
}

function tiersOf(servers: readonly ServerState[]): Map<string, number> {
  const tiers = new Map<string, number>()
  for (const { type, tier } of servers) if (type === 'historical') tiers.set(tier, (tiers.get(tier) ?? 0) + 1)
  return tiers
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
