import { copyFlag, hashNumber, type SegmentTable } from '../inventory/index.ts'
import { giveLoad, hasRoom, type ServerDraft } from './server-draft.ts'

/** Copies that are to change their servers within a tier: three lists side by side. */
export interface MoveList {
  readonly rows: number[]
  /** Numbers of the servers that give them up once others serve them. */
  readonly from: number[]
  readonly to: number[]
}

/** How much one run may move. */
export interface MoveLimits {
  /** Copies of one tier that may be on their way at a time. */
  readonly maxSegmentsToMove: number
  readonly maxLoadsPerServer: number
}

// Servers of a tier whose fill differs by no more than this, as a part of their size, are left as they are.
const evenEnough = 0.02
// A copy moves away from its neighbours in time if there are so many fewer of them elsewhere.
const fewerNeighbours = 8
// Segments of a datasource are neighbours within blocks of so many of their intervals.
const intervalsInBlock = 16
// Blocks are counted in so many cells a server; two that fall into one cell keep apart for no reason, which does no harm.
const cellCount = 4096
// Rows that one run looks at, and how often it compares a server with another for them: nothing else is done meanwhile.
const rowsAtOnce = 50_000
const comparisonsAtOnce = 5_000_000
// Servers of a tier that a copy may go to.
const candidatesOfTier = 8

interface BalancedServer {
  readonly draft: ServerDraft
  readonly maxSizeBytes: number
  /** What it will hold when everything under way is over. */
  filledBytes: number
}

interface BalancedTier {
  readonly members: BalancedServer[]
  left: number
  least: number
  most: number
}

const fillOf = ({ filledBytes, maxSizeBytes }: BalancedServer): number => filledBytes / maxSizeBytes

/**
 * Moves copies within their tiers: first from fuller servers to emptier ones, and where all are filled alike, away
 * from where many of their neighbours in time lie, for these are asked for together. Every move makes the fill more
 * even, or neighbours fewer without making it less even, so that moving comes to an end.
 */
export class MovePlanner {
  private readonly table: SegmentTable
  private nextRow = 0
  private scannedInVain = 0
  private seenChanges = -1
  private seenServers = ''
  private neighbours = new Uint16Array(0)

  constructor(table: SegmentTable) {
    this.table = table
  }

  /**
   * The moves of a run. `drafts` are its historicals by number with what it has given them; `mayMove` tells whether a
   * segment has just the copies that its rule wants.
   */
  plan(
    drafts: readonly (ServerDraft | undefined)[],
    limits: MoveLimits,
    mayMove: (row: number) => boolean,
  ): MoveList {
    const moves: MoveList = { rows: [], from: [], to: [] }
    const { table } = this
    const servers = JSON.stringify(
      drafts.map((draft) => draft && [draft.server.name, draft.active, draft.server.maxSizeBytes]),
    )
    if (this.seenChanges !== table.servedChanges || this.seenServers !== servers) this.scannedInVain = 0
    this.seenChanges = table.servedChanges
    this.seenServers = servers
    if (limits.maxSegmentsToMove === 0 || this.scannedInVain >= table.rowLimit) return moves
    const balanced = drafts.map((draft) =>
      draft?.active && draft.server.maxSizeBytes > 0
        ? { draft, maxSizeBytes: draft.server.maxSizeBytes, filledBytes: draft.filledBytes }
        : undefined,
    )
    const tiers = this.countUp(balanced, limits.maxSegmentsToMove)
    const widest = Math.max(1, ...[...tiers.values()].map(candidatesIn))
    const looked = Math.min(rowsAtOnce, Math.ceil(comparisonsAtOnce / widest), table.rowLimit)
    for (let count = 0; count < looked; count += 1) {
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

  /** Counts neighbours and what is on its way, and returns the tiers by their places. */
  private countUp(
    balanced: readonly (BalancedServer | undefined)[],
    maxSegmentsToMove: number,
  ): ReadonlyMap<number, BalancedTier> {
    const { table } = this
    const { copies } = table
    const tiers = new Map<number, BalancedTier>()
    for (const server of balanced) {
      if (server === undefined) continue
      const tier = tiers.get(server.draft.tier)
      if (tier) tier.members.push(server)
      else tiers.set(server.draft.tier, { members: [server], left: maxSegmentsToMove, least: 0, most: 0 })
    }
    const cells = balanced.length * cellCount
    if (this.neighbours.length < cells) this.neighbours = new Uint16Array(cells)
    else this.neighbours.fill(0)
    for (let entry = 0; entry < copies.limit; entry += 1) {
      const number = copies.serverOf[entry]!
      const server = number < 0 ? undefined : balanced[number]
      if (server === undefined) continue
      const row = copies.rowOf[entry]!
      let flags = copies.flagsOf[entry]!
      if ((flags & copyFlag.leaving) !== 0 && !this.isMoving(row)) {
        // What was to take its place did not come.
        flags &= ~copyFlag.leaving
        copies.flagsOf[entry] = flags
      }
      const goes = (flags & (copyFlag.dropping | copyFlag.leaving)) !== 0 && (flags & copyFlag.served) !== 0
      if (goes) server.filledBytes -= table.sizeOf[row]!
      if ((flags & copyFlag.moving) !== 0) tiers.get(server.draft.tier)!.left -= 1
      if (!goes && (flags & (copyFlag.served | copyFlag.loading)) !== 0 && table.isUsed(row))
        this.neighbours[number * cellCount + this.cellOf(row)]! += 1
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
      if (to === undefined || this.isUnderWay(row) || !mayMove(row)) continue
      moves.rows.push(row)
      moves.from.push(from.draft.server.number)
      moves.to.push(to.draft.server.number)
      const cell = this.cellOf(row)
      this.neighbours[from.draft.server.number * cellCount + cell]! -= 1
      this.neighbours[to.draft.server.number * cellCount + cell]! += 1
      from.filledBytes -= sizeBytes
      to.filledBytes += sizeBytes
      giveLoad(to.draft, sizeBytes)
      tier.left -= 1
      measure(tier)
      return true
    }
    return false
  }

  /** Whether any copy of the segment is on its way, here or away. */
  private isUnderWay(row: number): boolean {
    const { copies } = this.table
    for (let entry = copies.firstOf[row]!; entry >= 0; entry = copies.nextOf[entry]!)
      if ((copies.flagsOf[entry]! & ~(copyFlag.served | copyFlag.leaving)) !== 0) return true
    return false
  }

  /** A server of the tier on which a copy lies better than on `from`. */
  private better(
    row: number,
    from: BalancedServer,
    tier: BalancedTier,
    { maxLoadsPerServer }: MoveLimits,
  ): BalancedServer | undefined {
    const { table, neighbours } = this
    const sizeBytes = table.sizeOf[row]!
    const isUneven = isUnevenTier(tier)
    const middle = (tier.most + tier.least) / 2
    if (isUneven && fillOf(from) <= middle) return undefined
    const cell = isUneven ? 0 : this.cellOf(row)
    const here = isUneven ? 0 : neighbours[from.draft.server.number * cellCount + cell]!
    if (!isUneven && here < fewerNeighbours) return undefined
    const fromAfter = (from.filledBytes - sizeBytes) / from.maxSizeBytes
    const { members } = tier
    // Where all are alike, other rows begin with other servers.
    const first = isUneven ? 0 : row % members.length
    const candidates = candidatesIn(tier)
    let best: BalancedServer | undefined
    let bestValue = isUneven ? Infinity : here - fewerNeighbours + 1
    for (let step = 0; step < candidates; step += 1) {
      const to = members[(first + step) % members.length]!
      if (to === from || to.draft.queuedLoads >= maxLoadsPerServer || !hasRoom(to.draft, sizeBytes)) continue
      const toAfter = (to.filledBytes + sizeBytes) / to.maxSizeBytes
      const value = isUneven ? fillOf(to) : neighbours[to.draft.server.number * cellCount + cell]!
      if (value >= bestValue || table.copies.flags(row, to.draft.server.number) !== 0) continue
      const isAllowed = isUneven
        ? toAfter <= fromAfter
        : toAfter <= tier.least + evenEnough && fromAfter >= tier.most - evenEnough
      if (!isAllowed) continue
      best = to
      bestValue = value
    }
    return best
  }
}

const isUnevenTier = ({ most, least }: BalancedTier): boolean => most - least > evenEnough

/** How many servers of a tier are looked at for a copy. */
const candidatesIn = (tier: BalancedTier): number =>
  isUnevenTier(tier) ? tier.members.length : Math.min(candidatesOfTier, tier.members.length)

function measure(tier: BalancedTier): void {
  tier.least = Infinity
  tier.most = -Infinity
  for (const server of tier.members) {
    const fill = fillOf(server)
    if (fill < tier.least) tier.least = fill
    if (fill > tier.most) tier.most = fill
  }
}
