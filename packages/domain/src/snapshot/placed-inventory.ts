import { Heap } from '../heap/index.ts'
import {
  type CompleteInventory,
  type GivenDatasource,
  type GivenSegment,
  groupGivenSegments,
  type PreviewServer,
  withColumns,
} from '../preview/index.ts'
import { type RulesByName, ruleBoundariesOf } from '../rules/index.ts'
import { segmentId } from '../segment/index.ts'

/** The parts of a snapshot that previews need. */
export interface SnapshotContents {
  readonly now: number
  readonly servers: readonly PreviewServer[]
  readonly rules: RulesByName
  readonly segments: readonly GivenSegment[]
  /**
   * The segments that each server serves, by their ids; undefined if the snapshot does not say. Then they are where
   * the rules require them.
   */
  readonly placement: ReadonlyMap<string, readonly string[]> | undefined
}

/** The servers of each segment, by its number in the snapshot. */
interface Copies {
  /** Number of the first copy of each segment; one more entry than there are segments. */
  readonly firstCopy: Uint32Array
  readonly servers: Uint16Array
}

// Number of segments between two pauses.
const slice = 16_384

/** Returns the inventory of a snapshot, on which rule changes can be previewed. Yields regularly. */
export function* inventoryOfSnapshot(contents: SnapshotContents): Generator<undefined, CompleteInventory> {
  const { now, servers, rules, segments, placement } = contents
  const groups = yield* groupGivenSegments(segments)
  const { firstCopy, servers: copies } = yield* placement === undefined
    ? placeByRules(contents, groups)
    : placeAsListed(contents, placement)
  return {
    now,
    isComplete: true,
    servers,
    rules,
    datasources: groups.map(({ segments: own, places }) =>
      withColumns({
        ...own,
        forEachCopy: (index, visit) => {
          const place = places[index]!
          for (let at = firstCopy[place]!; at < firstCopy[place + 1]!; at += 1) visit(copies[at]!)
        },
      }),
    ),
  }
}

/** Collects the servers of segments in any order. */
class CopyList {
  private readonly places: number[] = []
  private readonly servers: number[] = []

  add(place: number, server: number): void {
    this.places.push(place)
    this.servers.push(server)
  }

  /** Returns the servers by segment. */
  sorted(count: number): Copies {
    const firstCopy = new Uint32Array(count + 1)
    for (const place of this.places) firstCopy[place + 1]! += 1
    for (let place = 0; place < count; place += 1) firstCopy[place + 1]! += firstCopy[place]!
    const next = firstCopy.slice()
    const servers = new Uint16Array(this.places.length)
    for (const [at, place] of this.places.entries()) {
      servers[next[place]!] = this.servers[at]!
      next[place]! += 1
    }
    return { firstCopy, servers }
  }
}

/** Returns the copies that the snapshot lists. Segments and servers that it does not contain are left out. */
function* placeAsListed(
  { segments, servers }: SnapshotContents,
  placement: ReadonlyMap<string, readonly string[]>,
): Generator<undefined, Copies> {
  const placeOf = new Map<string, number>()
  for (const [place, segment] of segments.entries()) {
    if (place % slice === 0) yield
    placeOf.set(segmentId(segment), place)
  }
  const list = new CopyList()
  for (const [number, { name }] of servers.entries()) {
    yield
    for (const id of placement.get(name) ?? []) {
      const place = placeOf.get(id)
      if (place !== undefined) list.add(place, number)
    }
  }
  return list.sorted(segments.length)
}

interface Room {
  readonly server: number
  freeBytes: number
}

const hasMoreRoom = (a: Room, b: Room): boolean =>
  a.freeBytes > b.freeBytes || (a.freeBytes === b.freeBytes && a.server < b.server)

/** Returns the copies that the rules require, on the servers with the most free space. */
function* placeByRules(
  { now, servers, rules, segments }: SnapshotContents,
  groups: readonly GivenDatasource[],
): Generator<undefined, Copies> {
  const numbers = [...servers.keys()].filter((number) => servers[number]!.maxSizeBytes > 0)
  const tiers = new Map(
    [...Map.groupBy(numbers, (number) => servers[number]!.tier)].map(([tier, members]) => {
      const rooms = new Heap(hasMoreRoom)
      for (const server of members) rooms.push({ server, freeBytes: servers[server]!.maxSizeBytes })
      return [tier, rooms] as const
    }),
  )
  const list = new CopyList()
  for (const { segments: own, places } of groups) {
    const boundaries = ruleBoundariesOf(rules, own.dataSource, now)
    for (let index = 0; index < own.count; index += 1) {
      if (index % slice === 0) yield
      if (own.isOvershadowed(index)) continue
      const wanted = boundaries.wantedBy(boundaries.match({ start: own.start(index), end: own.end(index) }))
      if (wanted.action === 'drop') continue
      const required =
        wanted.action === 'load'
          ? wanted.tieredReplicants
          : [...tiers].map(([tier, rooms]) => [tier, rooms.size] as const)
      for (const [tier, copies] of required) {
        for (const server of take(tiers.get(tier), copies, own.sizeBytes(index)))
          list.add(places[index]!, server)
      }
    }
  }
  return list.sorted(segments.length)
}

/** Reserves space for copies of one segment on different servers, on as many of them as have enough space. */
function take(rooms: Heap<Room> | undefined, copies: number, sizeBytes: number): number[] {
  const taken: Room[] = []
  while (rooms !== undefined && taken.length < copies) {
    const room = rooms.first
    if (room === undefined || room.freeBytes < sizeBytes) break
    rooms.pop()
    room.freeBytes -= sizeBytes
    taken.push(room)
  }
  for (const room of taken) rooms!.push(room)
  return taken.map(({ server }) => server)
}
