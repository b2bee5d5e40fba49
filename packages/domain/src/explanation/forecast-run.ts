import {
  type CopyList,
  type LoadingServer,
  PlacementPlanner,
  type PreparedWanted,
  type UnplacedReason,
} from '../loading/index.ts'
import { rowsToCheck } from '../retention/index.ts'
import { ruleBoundariesOf } from '../rules/index.ts'
import type { ExplainedCluster } from './segment-explanation.ts'
import { plannedServers } from './unreported-servers.ts'

/** A load that the next run requests. */
export interface ForecastLoad {
  /** Number of the server. */
  readonly server: number
  readonly tier: string
  /** Loads that are in its queue before this one: all, and those that the same run adds. */
  readonly loadsBefore: number
  readonly newLoadsBefore: number
  readonly newBytesBefore: number
}

/** Replicas of a segment that the next run does not assign, although a rule requires them. */
export interface ForecastWait {
  readonly tier: string
  readonly reason: UnplacedReason
  readonly copies: number
  /** Position of the first of these replicas among all that wait in the tier, from 1. */
  readonly place: number
  /** Number of replicas that wait in the tier. */
  readonly of: number
}

/** What the next run decides about a segment. Servers are given by number. */
export interface SegmentForecast {
  readonly loads: readonly ForecastLoad[]
  readonly cancelledLoads: readonly number[]
  readonly drops: readonly number[]
  readonly waits: readonly ForecastWait[]
}

/** What the next run decides about all used segments that are not overshadowed, apart from moves. */
export interface RunTotals {
  readonly loads: number
  readonly drops: number
  /** Segments that it marks as unused because drop rules apply. */
  readonly markedUnused: number
  /** Replicas that rules require and that it cannot assign. */
  readonly unplaced: number
}

/** What the next run decides if nothing changes before. */
export interface RunForecast {
  /** Returns what it decides about a used segment, given by row. */
  of(row: number): SegmentForecast
  readonly totals: RunTotals
}

const noForecast: SegmentForecast = { loads: [], cancelledLoads: [], drops: [], waits: [] }

/** The forecast of a run that decides nothing. */
export const idleRun: RunForecast = {
  of: () => noForecast,
  totals: { loads: 0, drops: 0, markedUnused: 0, unplaced: 0 },
}

// Number of segments between two pauses.
const slice = 4096

/**
 * Returns what the next run decides. Like the run, plans all segments in the same order, because they compete for servers.
 * Yields regularly. Changes nothing.
 */
export function* forecastRun(cluster: ExplainedCluster): Generator<undefined, RunForecast> {
  const { table, limits } = cluster
  const forecast = new ForecastColumns(table.rowLimit)
  const servers = plannedServers(cluster)
  const planner = new PlacementPlanner(table, servers, limits, (row, tier, reason, copies) =>
    forecast.addWait(row, tier, reason, copies),
  )
  const { marks, preparedOf, segmentsOf } = yield* segmentsToPlan(cluster, planner)
  for (const [prepared, segments] of segmentsOf) forecast.addSegments(prepared, segments)
  for (const server of servers) forecast.addServer(server)
  let planned = 0
  for (const row of rowsToCheck(table, marks)) {
    planned += 1
    if (planned % slice === 0) yield
    const prepared = preparedOf.get(table.groupOf[row]!)
    // The segment became unused during a pause.
    if (prepared === undefined) continue
    planner.planSegment(row, prepared)
    const { loads, cancelledLoads, drops } = planner.take()
    forecast.addLoads(loads, table.sizeOf[row]!)
    append(forecast.cancelledLoads, cancelledLoads)
    append(forecast.drops, drops)
  }
  return forecast
}

/** What a run starts from. */
interface PlannedSegments {
  /** For each row: 1 if the run may do something about it. */
  readonly marks: Uint8Array
  /** What the rules of the groups of these rows require. */
  readonly preparedOf: ReadonlyMap<number, PreparedWanted>
  /** Number of visible segments by what the rules require. */
  readonly segmentsOf: ReadonlyMap<PreparedWanted, number>
}

function* segmentsToPlan(
  { table, rules, now }: ExplainedCluster,
  planner: PlacementPlanner,
): Generator<undefined, PlannedSegments> {
  const marks = new Uint8Array(table.rowLimit)
  const preparedOf = new Map<number, PreparedWanted>()
  const segmentsOf = new Map<PreparedWanted, number>()
  let seen = 0
  for (const [number, name] of table.datasourceNames.entries()) {
    if (table.usedCountOf(number) === 0) continue
    const boundaries = ruleBoundariesOf(rules, name, now)
    for (const group of table.groupsOf(number)) {
      if (table.hiddenOf[group] === 1) continue
      const interval = { start: table.startOf[group]!, end: table.endOf[group]! }
      const prepared = planner.prepare(boundaries.wantedBy(boundaries.match(interval)))
      segmentsOf.set(prepared, (segmentsOf.get(prepared) ?? 0) + table.memberCountOf[group]!)
      table.forEachRow(group, (row) => {
        seen += 1
        if (!planner.mayChange(row, prepared)) return
        marks[row] = 1
        preparedOf.set(group, prepared)
      })
      if (seen < slice) continue
      seen = 0
      yield
    }
  }
  return { marks, preparedOf, segmentsOf }
}

/** Rows in any order, in which all entries of a row are adjacent. `firstOf` has the first index of each row, or -1. */
interface RowColumn {
  readonly rows: number[]
  readonly firstOf: Int32Array
}

const emptyColumn = (rowLimit: number): RowColumn => ({
  rows: [],
  firstOf: new Int32Array(rowLimit).fill(-1),
})

function pushRow({ rows, firstOf }: RowColumn, row: number): void {
  if (firstOf[row] === -1) firstOf[row] = rows.length
  rows.push(row)
}

/** Returns the indexes of the entries of a row. */
function entriesOf({ rows, firstOf }: RowColumn, row: number): number[] {
  const indexes: number[] = []
  for (let index = firstOf[row] ?? -1; index >= 0 && rows[index] === row; index += 1) indexes.push(index)
  return indexes
}

interface CopyColumns extends RowColumn {
  readonly servers: number[]
}

const noCopies = (rowLimit: number): CopyColumns => ({ ...emptyColumn(rowLimit), servers: [] })

function append(all: CopyColumns, { rows, servers }: CopyList): void {
  for (const [index, row] of rows.entries()) {
    pushRow(all, row)
    all.servers.push(servers[index]!)
  }
}

/** The load queue of a server: the loads before the run, and those that the run adds. */
interface ServerQueue {
  readonly tier: string
  readonly before: number
  loads: number
  bytes: number
}

/** A forecast in columns, because a run may decide about a million segments. All entries of a segment are adjacent. */
class ForecastColumns implements RunForecast {
  readonly cancelledLoads: CopyColumns
  readonly drops: CopyColumns
  private readonly loads
  private readonly waits
  private readonly queued = new Map<number, ServerQueue>()
  private readonly waiting = new Map<string, number>()
  private markedUnused = 0
  private withoutServers = 0

  constructor(rowLimit: number) {
    this.cancelledLoads = noCopies(rowLimit)
    this.drops = noCopies(rowLimit)
    this.loads = { ...noCopies(rowLimit), newBefore: [] as number[], newBytesBefore: [] as number[] }
    this.waits = {
      ...emptyColumn(rowLimit),
      tiers: [] as string[],
      reasons: [] as UnplacedReason[],
      copies: [] as number[],
      places: [] as number[],
    }
  }

  /** Adds segments for which rules require the same. */
  addSegments(
    { wanted, tiersWithoutServers, tiersWithTooFewServers }: PreparedWanted,
    segments: number,
  ): void {
    if (wanted.action === 'drop') this.markedUnused += segments
    for (const [, copies] of [...tiersWithoutServers, ...tiersWithTooFewServers])
      this.withoutServers += copies * segments
  }

  addServer({ number, tier, queuedLoads }: LoadingServer): void {
    this.queued.set(number, { tier, before: queuedLoads, loads: 0, bytes: 0 })
  }

  addLoads({ rows, servers }: CopyList, sizeBytes: number): void {
    for (const [index, row] of rows.entries()) {
      const queue = this.queued.get(servers[index]!)!
      pushRow(this.loads, row)
      this.loads.servers.push(servers[index]!)
      this.loads.newBefore.push(queue.loads)
      this.loads.newBytesBefore.push(queue.bytes)
      queue.loads += 1
      queue.bytes += sizeBytes
    }
  }

  addWait(row: number, tier: string, reason: UnplacedReason, copies: number): void {
    const before = this.waiting.get(tier) ?? 0
    this.waiting.set(tier, before + copies)
    pushRow(this.waits, row)
    this.waits.tiers.push(tier)
    this.waits.reasons.push(reason)
    this.waits.copies.push(copies)
    this.waits.places.push(before + 1)
  }

  get totals(): RunTotals {
    const waiting = this.waits.copies.reduce((sum, copies) => sum + copies, 0)
    return {
      loads: this.loads.rows.length,
      drops: this.drops.rows.length,
      markedUnused: this.markedUnused,
      unplaced: waiting + this.withoutServers,
    }
  }

  of(row: number): SegmentForecast {
    const { loads, waits, cancelledLoads, drops } = this
    return {
      loads: entriesOf(loads, row).map((index) => {
        const server = loads.servers[index]!
        const { tier, before } = this.queued.get(server)!
        const newLoadsBefore = loads.newBefore[index]!
        return {
          server,
          tier,
          loadsBefore: before + newLoadsBefore,
          newLoadsBefore,
          newBytesBefore: loads.newBytesBefore[index]!,
        }
      }),
      cancelledLoads: entriesOf(cancelledLoads, row).map((index) => cancelledLoads.servers[index]!),
      drops: entriesOf(drops, row).map((index) => drops.servers[index]!),
      waits: entriesOf(waits, row).map((index) => {
        const tier = waits.tiers[index]!
        return {
          tier,
          reason: waits.reasons[index]!,
          copies: waits.copies[index]!,
          place: waits.places[index]!,
          of: this.waiting.get(tier)!,
        }
      }),
    }
  }
}
