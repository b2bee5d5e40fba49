import { setImmediate } from 'node:timers/promises'
import type { Segment } from '@svc/domain/segment'
import { formatInterval } from '@svc/domain/time'
import type { SegmentInventory } from './segment-inventory.ts'
import type { ServerInventory, ServerState } from './server-inventory.ts'

/** A segment that at least one server serves. */
export interface ServedSegment {
  readonly segment: Segment
  /** Names of the servers. */
  readonly servers: readonly string[]
  /** Number of replicas on historicals by tier. */
  readonly tiers: ReadonlyMap<string, number>
}

/** Total size of segments in bytes and their number. */
export interface SizeAndCount {
  readonly size: number
  readonly count: number
}

/** Served segments with the same start, sorted by datasource and ID in the requested direction. */
export type ServedTogether = readonly ServedSegment[]

// Segments to check before other requests get their turn.
const segmentsAtOnce = 2000

/**
 * Yields the served segments of some datasources, sorted by start, datasource, and ID, ascending or descending. Segments
 * are looked up lazily, so a million of them need no memory, and changes in the meantime are visible.
 */
export async function* servedSegments(
  { table }: SegmentInventory,
  servers: ServerInventory,
  dataSources: readonly string[],
  newestFirst = false,
): AsyncGenerator<ServedTogether> {
  const numbers = dataSources.map((name) => table.datasourceNumber(name)).filter((number) => number >= 0)
  const placeOf = new Map(numbers.map((number, place) => [number, place]))
  const { groups, starts } = orderedByStart(table, numbers)
  let looked = 0
  for (let left = groups.length, from = 0; left > 0; ) {
    const start = starts[newestFirst ? left - 1 : from] as number
    const found: (ServedSegment & { readonly place: number })[] = []
    for (;;) {
      const at = newestFirst ? left - 1 : from
      if (left === 0 || starts[at] !== start) break
      left -= 1
      if (!newestFirst) from += 1
      const group = groups[at] as number
      // The number of a group may have been reused while other requests had their turn.
      const place = placeOf.get(table.datasourceOf[group] as number)
      if (place === undefined || table.startOf[group] !== start) continue
      table.forEachRow(group, (row) => {
        looked += 1
        const members = servers.holdersOf(row)
        if (members.length === 0) return
        found.push({
          segment: table.segment(row),
          servers: members.map(({ name }) => name),
          tiers: tiersOf(members),
          place,
        })
      })
    }
    found.sort((a, b) => a.place - b.place || (a.segment.id < b.segment.id ? -1 : 1))
    if (newestFirst) found.reverse()
    if (found.length > 0) yield found
    if (looked < segmentsAtOnce) continue
    looked = 0
    await setImmediate()
  }
}

/** Returns the groups of some datasources sorted by start, with the starts. Sorts typed arrays, which is faster. */
function orderedByStart(
  table: SegmentInventory['table'],
  numbers: readonly number[],
): { readonly groups: Int32Array; readonly starts: Float64Array } {
  const all = numbers.map((number) => table.groupsOf(number))
  const length = all.reduce((sum, one) => sum + one.length, 0)
  const starts = new Float64Array(length)
  let at = 0
  for (const own of all) for (const group of own) starts[at++] = table.startOf[group] as number
  starts.sort()
  const groups = new Int32Array(length)
  const taken = new Int32Array(length)
  for (const own of all)
    for (const group of own) {
      const first = firstPlaceOf(starts, table.startOf[group] as number)
      groups[first + (taken[first] as number)] = group
      taken[first] = (taken[first] as number) + 1
    }
  return { groups, starts }
}

function firstPlaceOf(sorted: Float64Array, value: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] as number) < value) low = middle + 1
    else high = middle
  }
  return low
}

function tiersOf(servers: readonly ServerState[]): Map<string, number> {
  const tiers = new Map<string, number>()
  for (const { type, tier } of servers) if (type === 'historical') tiers.set(tier, (tiers.get(tier) ?? 0) + 1)
  return tiers
}

/** Returns the segments grouped by interval. */
export function byInterval(together: ServedTogether): Map<string, ServedSegment[]> {
  return Map.groupBy(together, ({ segment }) => formatInterval(segment.interval))
}

/** Total size of segments in bytes and their number. */
export function sizeAndCount(served: readonly ServedSegment[]): SizeAndCount {
  return { size: served.reduce((sum, { segment }) => sum + segment.sizeBytes, 0), count: served.length }
}
