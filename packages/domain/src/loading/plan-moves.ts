import { copyFlag, hashNumber, type SegmentTable } from '../inventory/index.ts'
import { addLoad, hasRoom, type ServerDraft } from './server-draft.ts'

/** Replicas to move between servers of a tier, as three parallel lists. */
export interface MoveList {
  readonly rows: number[]
  /** Numbers of the servers that drop the replicas once the new servers serve them. */
  readonly from: number[]
  readonly to: number[]
}

/** Limits of the moves of one run. */
export interface MoveLimits {
  /** Maximum number of replicas of a tier that are moving at a time. */
  readonly maxSegmentsToMove: number
  readonly maxLoadsPerServer: number
}

// Fill differences up to this fraction of the server size do not cause moves.
const evenEnough = 0.02
// A replica moves if another server has at least this many fewer neighbors in time.
const fewerNeighbors = 8
// Segments of a datasource are neighbors if they are in the same block of this many intervals.
const intervalsInBlock = 16
// Number of cells per server in which blocks are counted. Two blocks in one cell are kept apart needlessly, which is
// harmless.
const cellCount = 4096
// Max rows and server comparisons per run, so that runs do not take long.
const maxRows = 50_000
const maxComparisons = 5_000_000
// Replicas to count and server comparisons between two pauses. Both take less than a millisecond.
const copiesPerStep = 4096
const comparisonsPerStep = 50_000
// Maximum number of servers of a tier that are compared as targets for a replica.
const candidatesOfTier = 8

interface BalancedServer {
  readonly draft: ServerDraft
  readonly maxSizeBytes: number
  /** Bytes that it will hold when everything in progress is done. */
  filledBytes: number
}

interface BalancedTier {
  readonly members: BalancedServer[]
  left: number
  min: number
  max: number
}

const fillOf = ({ filledBytes, maxSizeBytes }: BalancedServer): number => filledBytes / maxSizeBytes

/**
 * Balances replicas within their tiers. It first moves replicas from fuller to emptier servers. If the fill is even, it
 * moves replicas away from servers with many neighbors in time, because these are often queried together. Every move
 * makes the fill more even, or reduces neighbors without making the fill less even, so the moves come to an end.
 */
export class MovePlanner {
  private readonly table: SegmentTable
  private nextRow = 0
  private scannedInVain = 0
  private seenChanges = -1
  private seenServers = ''
  private neighbors = new Uint16Array(0)

  constructor(table: SegmentTable) {
    this.table = table
  }

  /**
   * Plans the moves of a run. `drafts` are its historicals by number, with what the run has assigned to them. `mayMove`
   * returns whether a segment has exactly the replicas that its rule requires. Pauses after each list of moves, which may be empty,
   * and returns the last one.
   */
  *plan(
    drafts: readonly (ServerDraft | undefined)[],
    limits: MoveLimits,
    mayMove: (row: number) => boolean,
  ): Generator<MoveList, MoveList> {
    const { table } = this
    const servers = JSON.stringify(
      drafts.map((draft) => draft && [draft.server.name, draft.active, draft.server.maxSizeBytes]),
    )
    if (this.seenChanges !== table.servedChanges || this.seenServers !== servers) this.scannedInVain = 0
    this.seenChanges = table.servedChanges
    this.seenServers = servers
    if (limits.maxSegmentsToMove === 0 || this.scannedInVain >= table.rowLimit) return noMoves()
    const balanced = drafts.map((draft) =>
      draft?.active && draft.server.maxSizeBytes > 0
        ? { draft, maxSizeBytes: draft.server.maxSizeBytes, filledBytes: draft.filledBytes }
        : undefined,
    )
    const tiers = yield* this.countUp(balanced, limits.maxSegmentsToMove)
    const widest = Math.max(1, ...[...tiers.values()].map(candidatesIn))
    const looked = Math.min(maxRows, Math.ceil(maxComparisons / widest), table.rowLimit)
    const rowsPerStep = Math.ceil(comparisonsPerStep / widest)
    let moves = noMoves()
    for (let count = 0; count < looked; count += 1) {
      if (count > 0 && count % rowsPerStep === 0) {
        yield moves
        moves = noMoves()
      }
      if (this.nextRow >= table.rowLimit) this.nextRow = 0
      const row = this.nextRow
      this.nextRow += 1
      if (
        table.isUsed(row) &&
        !table.isHidden(row) &&
        this.planRow(row, balanced, tiers, limits, mayMove, moves)
      )
        this.scannedInVain = 0
      else this.scannedInVain += 1
    }
    return moves
  }

  /** Counts neighbors and moves in progress, and returns the tiers by index. Pauses regularly. */
  private *countUp(
    balanced: readonly (BalancedServer | undefined)[],
    maxSegmentsToMove: number,
  ): Generator<MoveList, ReadonlyMap<number, BalancedTier>> {
    const { table } = this
    const { copies } = table
    const tiers = new Map<number, BalancedTier>()
    for (const server of balanced) {
      if (server === undefined) continue
      const tier = tiers.get(server.draft.tier)
      if (tier) tier.members.push(server)
      else tiers.set(server.draft.tier, { members: [server], left: maxSegmentsToMove, min: 0, max: 0 })
    }
    const cells = balanced.length * cellCount
    if (this.neighbors.length < cells) this.neighbors = new Uint16Array(cells)
    else this.neighbors.fill(0)
    for (let entry = 0; entry < copies.limit; entry += 1) {
      if (entry > 0 && entry % copiesPerStep === 0) yield noMoves()
      const number = copies.serverOf[entry]!
      const server = number < 0 ? undefined : balanced[number]
      if (server === undefined) continue
      const row = copies.rowOf[entry]!
      let flags = copies.flagsOf[entry]!
      if ((flags & copyFlag.leaving) !== 0 && !this.isMoving(row)) {
        // The server that should have taken over did not load the replica.
        flags &= ~copyFlag.leaving
        table.abandonMove(entry)
      }
      const goes = (flags & (copyFlag.dropping | copyFlag.leaving)) !== 0 && (flags & copyFlag.served) !== 0
      if (goes) server.filledBytes -= table.sizeOf[row]!
      if ((flags & copyFlag.moving) !== 0) tiers.get(server.draft.tier)!.left -= 1
      if (!goes && (flags & (copyFlag.served | copyFlag.loading)) !== 0 && table.isUsed(row))
        this.neighbors[number * cellCount + this.cellOf(row)]! += 1
    }
    for (const tier of tiers.values()) measure(tier)
    return tiers
  }

  private isMoving(row: number): boolean {
    const { copies } = this.table
    for (let entry = copies.firstOf[row]!; entry >= 0; entry = copies.nextOf[entry]!)
      if ((copies.flagsOf[entry]! & copyFlag.moving) !== 0) return true
    return false
  }

  private cellOf(row: number): number {
    const { table } = this
    const group = table.groupOf[row]!
    const start = table.startOf[group]!
    const block = Math.floor(start / ((table.endOf[group]! - start) * intervalsInBlock))
    return hashNumber(Number.isFinite(block) ? block : 0, table.datasourceOf[group]! + 1) & (cellCount - 1)
  }

  private planRow(
    row: number,
    balanced: readonly (BalancedServer | undefined)[],
    tiers: ReadonlyMap<number, BalancedTier>,
    limits: MoveLimits,
    mayMove: (row: number) => boolean,
    moves: MoveList,
  ): boolean {
    const { table } = this
    const { copies } = table
    const sizeBytes = table.sizeOf[row]!
    for (let entry = copies.firstOf[row]!; entry >= 0; entry = copies.nextOf[entry]!) {
      if (copies.flagsOf[entry] !== copyFlag.served) continue
      const from = balanced[copies.serverOf[entry]!]
      const tier = from && tiers.get(from.draft.tier)
      if (from === undefined || tier === undefined || tier.left <= 0 || tier.members.length < 2) continue
      const to = this.better(row, from, tier, limits)
      if (to === undefined || this.isInFlight(row) || !mayMove(row)) continue
      moves.rows.push(row)
      moves.from.push(from.draft.server.number)
      moves.to.push(to.draft.server.number)
      const cell = this.cellOf(row)
      const here = from.draft.server.number * cellCount + cell
      // A replica that was loaded during a pause may not have been counted.
      this.neighbors[here] = Math.max(0, this.neighbors[here]! - 1)
      this.neighbors[to.draft.server.number * cellCount + cell]! += 1
      from.filledBytes -= sizeBytes
      to.filledBytes += sizeBytes
      addLoad(to.draft, sizeBytes)
      tier.left -= 1
      measure(tier)
      return true
    }
    return false
  }

  /** Whether any replica of the segment is being loaded or dropped. */
  private isInFlight(row: number): boolean {
    const { copies } = this.table
    for (let entry = copies.firstOf[row]!; entry >= 0; entry = copies.nextOf[entry]!)
      if ((copies.flagsOf[entry]! & ~(copyFlag.served | copyFlag.leaving)) !== 0) return true
    return false
  }

  /** Returns a better server of the tier for a replica on `from`, if there is one. */
  private better(
    row: number,
    from: BalancedServer,
    tier: BalancedTier,
    { maxLoadsPerServer }: MoveLimits,
  ): BalancedServer | undefined {
    const { table, neighbors } = this
    const sizeBytes = table.sizeOf[row]!
    const isUneven = isUnevenTier(tier)
    const middle = (tier.max + tier.min) / 2
    if (isUneven && fillOf(from) <= middle) return undefined
    const cell = isUneven ? 0 : this.cellOf(row)
    const here = isUneven ? 0 : neighbors[from.draft.server.number * cellCount + cell]!
    if (!isUneven && here < fewerNeighbors) return undefined
    const fromAfter = (from.filledBytes - sizeBytes) / from.maxSizeBytes
    const { members } = tier
    // With even fill, start with different servers for different rows.
    const first = isUneven ? 0 : row % members.length
    const candidates = candidatesIn(tier)
    let best: BalancedServer | undefined
    let bestValue = isUneven ? Infinity : here - fewerNeighbors + 1
    for (let step = 0; step < candidates; step += 1) {
      const to = members[(first + step) % members.length]!
      if (to === from || to.draft.queuedLoads >= maxLoadsPerServer || !hasRoom(to.draft, sizeBytes)) continue
      const toAfter = (to.filledBytes + sizeBytes) / to.maxSizeBytes
      const value = isUneven ? fillOf(to) : neighbors[to.draft.server.number * cellCount + cell]!
      if (value >= bestValue || table.copies.flags(row, to.draft.server.number) !== 0) continue
      const isAllowed = isUneven
        ? toAfter <= fromAfter
        : toAfter <= tier.min + evenEnough && fromAfter >= tier.max - evenEnough
      if (!isAllowed) continue
      best = to
      bestValue = value
    }
    return best
  }
}

const noMoves = (): MoveList => ({ rows: [], from: [], to: [] })

const isUnevenTier = ({ max, min }: BalancedTier): boolean => max - min > evenEnough

/** Returns how many servers of a tier are compared for a replica. */
const candidatesIn = (tier: BalancedTier): number =>
  isUnevenTier(tier) ? tier.members.length : Math.min(candidatesOfTier, tier.members.length)

function measure(tier: BalancedTier): void {
  tier.min = Infinity
  tier.max = -Infinity
  for (const server of tier.members) {
    const fill = fillOf(server)
    if (fill < tier.min) tier.min = fill
    if (fill > tier.max) tier.max = fill
  }
}
