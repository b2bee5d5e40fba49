import { invalidInput } from '../failure/index.ts'
import { copyFlag, SegmentTable } from '../inventory/index.ts'
import { type CopyList, type LoadingServer, PlacementPlanner } from '../loading/index.ts'
import { rowsToCheck } from '../retention/index.ts'
import type { WantedCopies } from '../rules/index.ts'
import { segmentId } from '../segment/index.ts'
import { formatCount } from '../text/index.ts'
import type { UnplacedDatasource } from './datasource-outcome.ts'
import { getOrAdd } from './get-or-add.ts'
import type { PlacedColumns } from './pieces.ts'
import type { RuleTarget } from './rule-targets.ts'
import type { PreviewServer, ServersByTier } from './servers-by-tier.ts'

// Maximum number of counters for replicas in tiers that may run out of space. Each takes two bytes.
const maxCounters = 40_000_000
// Number of segments between two pauses.
const slice = 16_384
// Maximum number of replicas in a simulation. Each takes about 40 bytes.
const maxCopies = 8_000_000
// The planner needs a few runs: loads first, then drops that make room for more loads.
const maxRuns = 100

/** A visible segment of a simulation. */
interface SimulatedSegment {
  readonly datasource: UnplacedDatasource
  readonly position: number
  readonly wanted: WantedCopies
  readonly target: RuleTarget
}

/** The servers before and after the change, and which of their holders may run out of space. */
export interface SimulatedServers {
  readonly cluster: ServersByTier
  /** The servers after the change. */
  readonly servers: readonly PreviewServer[]
  readonly serversBefore: readonly PreviewServer[]
  readonly tight: ReadonlySet<number>
}

/**
 * Throws invalidInput if a simulation would have too many segments and tiers that may run out of space. A simulation
 * places the replicas of segments that have or need one in such a tier: it runs the planner of the coordinator on a copy
 * of the cluster until it changes nothing. No replicas move between the servers of a tier.
 */
export function assertCanSimulate(
  datasources: readonly UnplacedDatasource[],
  tight: ReadonlySet<number>,
): void {
  const segments = datasources.reduce((sum, { columns }) => sum + columns.count, 0)
  if (tight.size * segments <= maxCounters) return
  throw invalidInput(
    `The preview is too large: [${formatCount(segments)}] segments in [${formatCount(tight.size)}] tiers that may run out of space. Preview fewer segments or tiers, or specify servers with enough space for all replicas.`,
  )
}

/** A copy of the cluster on which the planner of the coordinator runs. */
export class Simulation {
  private readonly table = new SegmentTable()
  private readonly tight: ReadonlySet<number>
  private readonly servers: readonly LoadingServer[]
  private readonly usedSizeBytes: Float64Array
  /** Holder of each server. */
  private readonly holderOf: readonly number[]
  /** The server after the change that is the same as each server before; undefined if it is gone. */
  private readonly sameServer: readonly (number | undefined)[]
  /** Visible segments by row. */
  private readonly segments: (SimulatedSegment | undefined)[] = []
  /** How many replicas each segment has gained in each holder, by row; undefined until the first `takeChanges`. */
  private changes: Map<number, Map<number, number>> | undefined
  /** The replicas that were loaded or dropped since each checkpoint, in order. */
  private checkpoints: { readonly list: CopyList; readonly isLoad: boolean }[][] = []
  /** All rows in the order in which runs check them. */
  private order: Int32Array | undefined
  private copies = 0
  private runs = 0
  /** The run that last found no space for a segment, by row; 0 if there was space or the segment has changed since. */
  private readonly waitingSince: number[] = []
  /** The run that last dropped replicas from each holder. */
  private readonly freedIn: number[]

  constructor({ cluster, servers, serversBefore, tight }: SimulatedServers) {
    this.tight = tight
    this.servers = servers.map(({ name, type, tier, maxSizeBytes, decommissioning }, number) => {
      const idle = { usedSizeBytes: 0, loadingSizeBytes: 0, queuedLoads: 0 }
      return { number, name, type, tier, maxSizeBytes, decommissioning, ...idle }
    })
    this.usedSizeBytes = new Float64Array(servers.length)
    const tierPlaces = new Map(cluster.tiers.map(({ name }, place) => [name, place]))
    this.holderOf = servers.map(({ type, tier }) =>
      type === 'broker' ? cluster.tiers.length : tierPlaces.get(tier)!,
    )
    this.freedIn = cluster.holders.map(() => 0)
    const numbers = new Map(servers.map(({ name }, number) => [name, number]))
    this.sameServer = serversBefore.map(({ name }) => numbers.get(name))
  }

  /**
   * Adds the segments of a datasource that have or need a replica in a holder that may run out of space, and those whose
   * position is marked. Overshadowed segments count as unused: their replicas are dropped. Returns the row of the segment
   * at each position; -1 if the simulation does not include the segment.
   */
  *add(datasource: UnplacedDatasource, marks?: Uint8Array): Generator<undefined, Int32Array> {
    const { columns, stretches, targetOf, boundaries } = datasource
    const rows = new Int32Array(columns.count).fill(-1)
    for (const { from, to, rule } of stretches) {
      const target = targetOf(rule)
      const wanted = boundaries.wantedBy(rule)
      const copies = target.holders.reduce((sum, one) => sum + one.copies, 0)
      const isTight = target.holders.some(({ holder }) => this.tight.has(holder))
      for (let position = from; position < to; position += 1) {
        if (position % slice === 0) yield
        const index = columns.indexes[position]!
        const held = this.serversOf(datasource, index)
        if (!isTight && marks?.[position] !== 1 && !this.isAnyTight(held)) continue
        const segment = { datasource, position, wanted, target }
        rows[position] = this.addSegment(datasource, index, held, copies, segment)
      }
    }
    for (const [at, index] of columns.overshadowedIndexes.entries()) {
      if (at % slice === 0) yield
      const held = this.serversOf(datasource, index)
      if (this.isAnyTight(held)) this.addSegment(datasource, index, held, 0, undefined)
    }
    return rows
  }

  /** Applies another rule to a segment, given by row. */
  changeRule(row: number, rule: number): void {
    const { datasource, position } = this.segments[row]!
    const { boundaries, targetOf } = datasource
    this.segments[row] = { datasource, position, wanted: boundaries.wantedBy(rule), target: targetOf(rule) }
    this.table.noteChecked(row, true)
    this.waitingSince[row] = 0
  }

  /** Runs the planner until it decides nothing more. */
  *settle(): Generator<undefined, void> {
    for (let run = 0; run < maxRuns; run += 1) if (!(yield* this.run())) break
  }

  /** Starts to record changes, so that `restore` can return to the replicas that segments have now. */
  checkpoint(): void {
    this.checkpoints.push([])
  }

  /** Forgets all checkpoints. */
  forget(): void {
    this.checkpoints = []
  }

  /** Undoes all loads and drops since the last checkpoint, and forgets it. Yields regularly. */
  *restore(): Generator<undefined, void> {
    for (const { list, isLoad } of this.checkpoints.pop()!.reverse()) yield* this.apply(list, !isLoad)
  }

  /** Returns how many replicas segments have gained since the last call, by row and holder. The first call returns none. */
  takeChanges(): ReadonlyMap<number, ReadonlyMap<number, number>> {
    const changes = this.changes ?? new Map()
    this.changes = new Map()
    return changes
  }

  /** Returns what a rule requires of a segment, given by row. */
  targetOf(row: number): RuleTarget {
    return this.segments[row]!.target
  }

  /**
   * Puts the replicas of a segment by holder into `counts`, except those on decommissioning servers, which are going away.
   */
  copiesOf(row: number, counts: Map<number, number>): void {
    const { copies } = this.table
    counts.clear()
    for (let entry = copies.firstOf[row]!; entry >= 0; entry = copies.nextOf[entry]!) {
      const server = copies.serverOf[entry]!
      if (this.servers[server]!.decommissioning) continue
      const holder = this.holderOf[server]!
      counts.set(holder, (counts.get(holder) ?? 0) + 1)
    }
  }

  private serversOf({ segments }: UnplacedDatasource, index: number): number[] {
    const held: number[] = []
    segments.forEachCopy(index, (before) => {
      const server = this.sameServer[before]
      if (server !== undefined) held.push(server)
    })
    return held
  }

  private isAnyTight(servers: readonly number[]): boolean {
    return servers.some((server) => this.tight.has(this.holderOf[server]!))
  }

  private addSegment(
    { columns: { dataSource }, segments }: UnplacedDatasource,
    index: number,
    held: readonly number[],
    wantedCopies: number,
    segment: SimulatedSegment | undefined,
  ): number {
    const { table } = this
    const [start, end, sizeBytes] = [segments.start(index), segments.end(index), segments.sizeBytes(index)]
    const key = { dataSource, version: segments.version(index), partitionNum: segments.partitionNum(index) }
    const id = segmentId({ ...key, interval: { start, end } })
    let row =
      segment === undefined
        ? table.rowOf(id)
        : table.put({ ...key, id, start, end, sizeBytes, partitions: 0, totalRows: 0 })
    for (const server of held) {
      const entry = table.changeCopy(id, server, copyFlag.served, 0, row)
      // Finding a row by its id takes much longer.
      row = table.copies.rowOf[entry]!
      this.usedSizeBytes[server]! += sizeBytes
    }
    table.noteSize(row, sizeBytes)
    this.segments[row] = segment
    this.copies += held.length + wantedCopies
    if (this.copies > maxCopies) {
      throw invalidInput(
        `The preview is too large: more than [${formatCount(maxCopies)}] segment replicas in tiers that may run out of space. Preview fewer segments or tiers, or specify servers with enough space for all replicas.`,
      )
    }
    return row
  }

  /** Does everything that one run of the planner decides. Returns whether it decided anything. */
  private *run(): Generator<undefined, boolean> {
    const { table } = this
    this.runs += 1
    const servers = this.servers.map((server, number) => ({
      ...server,
      usedSizeBytes: this.usedSizeBytes[number]!,
    }))
    const planner = new PlacementPlanner(table, servers, {
      maxLoadsPerServer: Infinity,
      replicationThrottleLimit: Infinity,
    })
    this.order ??= yield* this.orderOfRows()
    // An iterator would be much slower than the check itself.
    for (let at = 0; at < this.order.length; at += 1) {
      if (at % slice === 0) yield
      const row = this.order[at]!
      if (table.markedOf[row] === 0) continue
      const isOpen = this.isStillWaiting(row, planner) || this.planRow(row, planner)
      table.noteChecked(row, isOpen)
      this.waitingSince[row] = isOpen ? this.runs : 0
    }
    const { loads, drops } = planner.take()
    yield* this.apply(loads, true)
    yield* this.apply(drops, false)
    this.checkpoints.at(-1)?.push({ list: loads, isLoad: true }, { list: drops, isLoad: false })
    return loads.rows.length + drops.rows.length > 0
  }

  /** Returns all rows in the order in which each run checks those that are marked. Yields regularly. */
  private *orderOfRows(): Generator<undefined, Int32Array> {
    const order = new Int32Array(this.table.rowLimit)
    let count = 0
    for (const row of rowsToCheck(this.table, new Uint8Array(order.length).fill(1))) {
      if (row === undefined || count % slice === 0) yield
      if (row === undefined) continue
      order[count] = row
      count += 1
    }
    return order.subarray(0, count)
  }

  private planRow(row: number, planner: PlacementPlanner): boolean {
    const segment = this.segments[row]
    return segment === undefined
      ? planner.planUnused(row)
      : planner.planSegment(row, planner.prepare(segment.wanted))
  }

  /** Whether a segment still waits for space. Planning such segments again in each run would take most of the time. */
  private isStillWaiting(row: number, planner: PlacementPlanner): boolean {
    const since = this.waitingSince[row] ?? 0
    const segment = this.segments[row]
    if (since === 0 || segment === undefined) return false
    const { wanted, target } = segment
    const prepared = planner.prepare(wanted)
    const wasFreed = target.holders.some(({ holder }) => this.freedIn[holder]! >= since)
    if (!wasFreed && !planner.hasFreedSpace(prepared)) return true
    return wanted.action === 'load' && !planner.mayHaveRoom(prepared, this.table.sizeOf[row]!)
  }

  private *apply({ rows, servers }: CopyList, isLoad: boolean): Generator<undefined, void> {
    const { table } = this
    for (const [at, row] of rows.entries()) {
      if (at % slice === 0) yield
      const server = servers[at]!
      const sizeBytes = table.sizeOf[row]!
      this.usedSizeBytes[server]! += isLoad ? sizeBytes : -sizeBytes
      table.changeRow(row, server, isLoad ? copyFlag.served : 0, isLoad ? 0 : copyFlag.served)
      this.waitingSince[row] = 0
      if (!isLoad) this.freedIn[this.holderOf[server]!] = this.runs
      this.noteChange(row, server, isLoad ? 1 : -1)
    }
  }

  private noteChange(row: number, server: number, gained: number): void {
    if (this.changes === undefined || this.segments[row] === undefined) return
    if (this.servers[server]!.decommissioning) return
    const ofRow = getOrAdd(this.changes, row, () => new Map<number, number>())
    const holder = this.holderOf[server]!
    ofRow.set(holder, (ofRow.get(holder) ?? 0) + gained)
  }

  /** Returns the replicas in holders where some segments do not have those that their rule requires. */
  *placed(): Generator<undefined, ReadonlyMap<UnplacedDatasource, PlacedColumns>> {
    const counts = new Map<number, number>()
    const placed = new Map<UnplacedDatasource, Map<number, Uint16Array>>()
    for (const [row, segment] of this.segments.entries()) {
      if (row % slice === 0) yield
      if (segment === undefined) continue
      this.copiesOf(row, counts)
      const { datasource, position, target } = segment
      const columns = getOrAdd(placed, datasource, () => new Map<number, Uint16Array>())
      const note = (holder: number, count: number): void => {
        getOrAdd(columns, holder, () => requiredIn(datasource, holder))[position] = count
      }
      for (const { holder, copies: wanted } of target.holders) {
        const count = counts.get(holder) ?? 0
        if (count !== wanted) note(holder, count)
        counts.delete(holder)
      }
      for (const [holder, count] of counts) note(holder, count)
    }
    return placed
  }
}

/** Returns the replicas in a holder that the rules require, by position. */
function requiredIn({ columns, stretches, targetOf }: UnplacedDatasource, holder: number): Uint16Array {
  const required = new Uint16Array(columns.count)
  for (const { from, to, rule } of stretches)
    required.fill(targetOf(rule).byHolder.get(holder)?.copies ?? 0, from, to)
  return required
}
