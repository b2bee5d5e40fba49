import { BlockColumn, type SegmentTable } from '../inventory/index.ts'
import {
  type CopyList,
  type LoadingServer,
  PlacementPlanner,
  type Plan,
  type PreparedWanted,
  type Unplaced,
  type UnplacedReason,
} from '../loading/index.ts'
import {
  groupsNewestFirst,
  type LackingCopies,
  lackingByTier,
  rowsOfGroup,
  type TierLack,
} from '../retention/index.ts'
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

/** What the next run decides about used segments that are not overshadowed, apart from moves. */
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
  /** Returns what it decides about the segments of the datasources, given by number, for which `isCounted` returns true. */
  totals(isCounted: (datasource: number) => boolean): RunTotals
  /** Returns the required replicas that it cannot assign to servers. */
  unplaced(): readonly Unplaced[]
  /** Returns the replicas that rules require and that the servers of a tier cannot load for a reason, by tier. */
  lacking(reason: TierLack): ReadonlyMap<string, readonly LackingCopies[]>
}

const noForecast: SegmentForecast = { loads: [], cancelledLoads: [], drops: [], waits: [] }

/** The forecast of a run that decides nothing. */
export const idleRun: RunForecast = {
  of: () => noForecast,
  totals: () => noTotals(),
  unplaced: () => [],
  lacking: () => new Map(),
}

type MutableTotals = { -readonly [Key in keyof RunTotals]: RunTotals[Key] }

const noTotals = (): MutableTotals => ({ loads: 0, drops: 0, markedUnused: 0, unplaced: 0 })

const tierLacks = ['tiersWithoutServers', 'tiersWithTooFewServers', 'tiersWithoutActiveServers'] as const

// Number of segments between two pauses: less than half a millisecond of work.
const slice = 512

/**
 * Returns what the next run decides. Like the run, plans all segments in the same order, because they compete for servers.
 * Yields regularly. Changes nothing.
 */
export function* forecastRun(cluster: ExplainedCluster): Generator<undefined, RunForecast> {
  const { table, limits } = cluster
  const servers = plannedServers(cluster)
  const forecast = new ForecastColumns(table, servers)
  const planner = new PlacementPlanner(table, servers, limits, (row, tier, reason, copies) =>
    forecast.addWait(row, tier, reason, copies),
  )
  const { groups, preparedOf, segmentsOf } = yield* groupsToPlan(cluster, planner)
  forecast.addSegments(segmentsOf)
  let planned = 0
  for (const group of groupsNewestFirst(table, groups)) {
    if (group === undefined) {
      yield
      continue
    }
    for (const row of rowsOfGroup(table, group)) {
      planned += 1
      if (planned % slice === 0) {
        forecast.add(planner.take())
        yield
      }
      // The segment may have become unused during a pause.
      if (table.groupOf[row] === group) planner.planSegment(row, preparedOf[group]!)
    }
  }
  forecast.add(planner.take())
  forecast.addUnplaced(planner.allUnplaced())
  return forecast
}

/** The groups that a run plans. */
interface GroupsToPlan {
  readonly groups: readonly number[]
  /** What the rules require of each group. */
  readonly preparedOf: readonly PreparedWanted[]
  /** Number of their segments by what the rules require and by datasource, given by number. */
  readonly segmentsOf: ReadonlyMap<PreparedWanted, ReadonlyMap<number, number>>
}

function* groupsToPlan(
  { table, rules, now }: ExplainedCluster,
  planner: PlacementPlanner,
): Generator<undefined, GroupsToPlan> {
  const groups: number[] = []
  const preparedOf: PreparedWanted[] = []
  const segmentsOf = new Map<PreparedWanted, Map<number, number>>()
  for (const [number, name] of table.datasourceNames.entries()) {
    if (table.usedCountOf(number) === 0) continue
    const boundaries = ruleBoundariesOf(rules, name, now)
    // Copied, because groups come and go during pauses.
    for (const group of table.groupsOf(number).slice()) {
      if (table.datasourceOf[group] !== number || table.hiddenOf[group] === 1) continue
      const interval = { start: table.startOf[group]!, end: table.endOf[group]! }
      const prepared = planner.prepare(boundaries.wantedBy(boundaries.match(interval)))
      const counts = segmentsOf.get(prepared) ?? new Map<number, number>()
      segmentsOf.set(prepared, counts.set(number, (counts.get(number) ?? 0) + table.memberCountOf[group]!))
      preparedOf[group] = prepared
      groups.push(group)
      if (groups.length % slice === 0) yield
    }
  }
  return { groups, preparedOf, segmentsOf }
}

/** Rows in any order, in which all entries of a row are adjacent. */
class RowColumn {
  readonly rows = new BlockColumn()
  private readonly rowLimit: number
  /** The first index of each row plus 1, or 0; undefined while there are no entries. */
  private firstOf: Int32Array | undefined

  constructor(rowLimit: number) {
    this.rowLimit = rowLimit
  }

  push(row: number): void {
    this.firstOf ??= new Int32Array(this.rowLimit)
    if (this.firstOf[row] === 0) this.firstOf[row] = this.rows.length + 1
    this.rows.push(row)
  }

  /** Returns the indexes of the entries of a row. */
  of(row: number): number[] {
    const indexes: number[] = []
    for (let index = (this.firstOf?.[row] ?? 0) - 1; index >= 0 && index < this.rows.length; index += 1) {
      if (this.rows.at(index) !== row) break
      indexes.push(index)
    }
    return indexes
  }
}

/** Replicas of segments on servers. */
class CopyColumns extends RowColumn {
  readonly servers = new BlockColumn()

  add(row: number, server: number): void {
    this.push(row)
    this.servers.push(server)
  }

  /** Returns the servers of a row, by number. */
  serversOf(row: number): number[] {
    return this.of(row).map((index) => this.servers.at(index))
  }
}

/** The load queue of a server: the loads before the run, and those that the run adds. */
interface ServerQueue {
  readonly tier: string
  readonly before: number
  loads: number
  bytes: number
}

/** The replicas that wait in a tier. */
interface WaitingTier {
  readonly name: string
  copies: number
}

/** Replicas that wait in a tier for the same reason. */
interface WaitKind {
  readonly number: number
  readonly tier: WaitingTier
  readonly reason: UnplacedReason
}

/** A forecast in columns, because a run may decide about a million segments. All entries of a segment are adjacent. */
class ForecastColumns implements RunForecast {
  private readonly table: SegmentTable
  private readonly cancelledLoads: CopyColumns
  private readonly drops: CopyColumns
  private readonly loads: CopyColumns
  private readonly newBefore = new BlockColumn()
  private readonly newBytesBefore = new BlockColumn(Float64Array)
  private readonly waits: RowColumn
  private readonly waitKinds = new BlockColumn()
  private readonly waitCopies = new BlockColumn()
  private readonly waitPlaces = new BlockColumn(Float64Array)
  private readonly queued: ReadonlyMap<number, ServerQueue>
  private readonly kinds: WaitKind[] = []
  private readonly kindsOf = new Map<string, Map<UnplacedReason, WaitKind>>()
  private allUnplaced: readonly Unplaced[] = []
  private readonly lackingFor = new Map<TierLack, ReadonlyMap<string, readonly LackingCopies[]>>()
  /** By number of the datasource. */
  private readonly totalsOf = new Map<number, MutableTotals>()

  constructor(table: SegmentTable, servers: readonly LoadingServer[]) {
    const { rowLimit } = table
    this.table = table
    this.cancelledLoads = new CopyColumns(rowLimit)
    this.drops = new CopyColumns(rowLimit)
    this.loads = new CopyColumns(rowLimit)
    this.waits = new RowColumn(rowLimit)
    this.queued = new Map(
      servers.map(({ number, tier, queuedLoads }) => [
        number,
        { tier, before: queuedLoads, loads: 0, bytes: 0 },
      ]),
    )
  }

  /** Adds segments by what rules require of them. */
  addSegments(segmentsOf: GroupsToPlan['segmentsOf']): void {
    for (const [prepared, counts] of segmentsOf)
      for (const [datasource, segments] of counts) {
        const totals = this.totalsIn(datasource)
        if (prepared.wanted.action === 'drop') totals.markedUnused += segments
        for (const reason of tierLacks)
          for (const [, copies] of prepared[reason]) totals.unplaced += copies * segments
      }
    for (const reason of tierLacks) this.lackingFor.set(reason, lackingByTier(reason, segmentsOf))
  }

  addUnplaced(unplaced: readonly Unplaced[]): void {
    this.allUnplaced = unplaced
  }

  unplaced(): readonly Unplaced[] {
    return this.allUnplaced
  }

  lacking(reason: TierLack): ReadonlyMap<string, readonly LackingCopies[]> {
    return this.lackingFor.get(reason) ?? new Map()
  }

  private totalsIn(datasource: number): MutableTotals {
    const known = this.totalsOf.get(datasource)
    if (known !== undefined) return known
    const totals = noTotals()
    this.totalsOf.set(datasource, totals)
    return totals
  }

  private totalsOfRow(row: number): MutableTotals {
    const { datasourceOf, groupOf } = this.table
    // The segment may have become unused during a pause.
    return this.totalsIn(datasourceOf[groupOf[row]!] ?? -1)
  }

  /** Adds what was planned for the next segments. */
  add({ loads, cancelledLoads, drops }: Plan): void {
    const { sizeOf } = this.table
    for (const [index, row] of loads.rows.entries()) {
      const server = loads.servers[index]!
      const queue = this.queued.get(server)!
      this.loads.add(row, server)
      this.totalsOfRow(row).loads += 1
      this.newBefore.push(queue.loads)
      this.newBytesBefore.push(queue.bytes)
      queue.loads += 1
      queue.bytes += sizeOf[row]!
    }
    append(this.cancelledLoads, cancelledLoads)
    append(this.drops, drops)
    for (const row of drops.rows) this.totalsOfRow(row).drops += 1
  }

  addWait(row: number, tier: string, reason: UnplacedReason, copies: number): void {
    const kind = this.kindOf(tier, reason)
    this.waits.push(row)
    this.waitKinds.push(kind.number)
    this.waitCopies.push(copies)
    this.waitPlaces.push(kind.tier.copies + 1)
    kind.tier.copies += copies
    this.totalsOfRow(row).unplaced += copies
  }

  private kindOf(tier: string, reason: UnplacedReason): WaitKind {
    const kinds = this.kindsOf.get(tier) ?? new Map<UnplacedReason, WaitKind>()
    const known = kinds.get(reason)
    if (known !== undefined) return known
    const [sameTier] = kinds.values()
    const waiting = sameTier?.tier ?? { name: tier, copies: 0 }
    const kind: WaitKind = { number: this.kinds.length, tier: waiting, reason }
    kinds.set(reason, kind)
    this.kindsOf.set(tier, kinds)
    this.kinds.push(kind)
    return kind
  }

  totals(isCounted: (datasource: number) => boolean): RunTotals {
    const sum = noTotals()
    for (const [datasource, totals] of this.totalsOf) {
      if (!isCounted(datasource)) continue
      sum.loads += totals.loads
      sum.drops += totals.drops
      sum.markedUnused += totals.markedUnused
      sum.unplaced += totals.unplaced
    }
    return sum
  }

  of(row: number): SegmentForecast {
    return {
      loads: this.loads.of(row).map((index) => {
        const server = this.loads.servers.at(index)
        const { tier, before } = this.queued.get(server)!
        const newLoadsBefore = this.newBefore.at(index)
        return {
          server,
          tier,
          loadsBefore: before + newLoadsBefore,
          newLoadsBefore,
          newBytesBefore: this.newBytesBefore.at(index),
        }
      }),
      cancelledLoads: this.cancelledLoads.serversOf(row),
      drops: this.drops.serversOf(row),
      waits: this.waits.of(row).map((index) => {
        const { tier, reason } = this.kinds[this.waitKinds.at(index)]!
        return {
          tier: tier.name,
          reason,
          copies: this.waitCopies.at(index),
          place: this.waitPlaces.at(index),
          of: tier.copies,
        }
      }),
    }
  }
}

function append(all: CopyColumns, { rows, servers }: CopyList): void {
  for (const [index, row] of rows.entries()) all.add(row, servers[index]!)
}
