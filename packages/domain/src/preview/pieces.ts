import type { Interval } from '../time/index.ts'
import { getOrAdd } from './get-or-add.ts'
import { type HeldCopies, type HeldRuns, heldRanges } from './held-copies.ts'
import type { RuleTarget } from './rule-targets.ts'
import type { SegmentColumns, Tally } from './segments.ts'
import type { Stretch } from './stretches.ts'

/** Replicas at each position after a change, by holder, in tiers that may run out of space. */
export type PlacedColumns = ReadonlyMap<number, Uint16Array>

/** What all changes of a datasource have in common. */
interface ChangeContext {
  readonly placed: PlacedColumns
  /** Index in the tiers of the cluster of each tier that replicas are held in. */
  readonly tierPlaces: readonly number[]
  readonly tierCount: number
}

/** How the replicas of some segments change. Segments with the same target and the same replicas share one object. */
export class CopyChange {
  readonly target: RuleTarget
  /** Replicas on historicals and brokers before the change. */
  before = 0
  /** Replicas on historicals and brokers after the change. */
  after = 0
  /** Brokers with a replica after the change. */
  readonly brokersAfter: number
  /** Replicas that historicals load. */
  loaded = 0
  /** Replicas that historicals drop. */
  dropped = 0
  /** Replicas that no historical has space for. */
  unplaced = 0
  /** Replicas before the change, by index in the tiers of the cluster. */
  private readonly held: ReadonlyMap<number, number>
  /** Replicas after the change in tiers that may run out of space, by holder and position. */
  private readonly placed: PlacedColumns
  /** One of the segments. */
  private readonly position: number
  private readonly tierCount: number

  constructor(
    target: RuleTarget,
    { byTier, brokers }: HeldCopies,
    position: number,
    { placed, tierPlaces, tierCount }: ChangeContext,
  ) {
    this.target = target
    this.held = new Map([...byTier].map(([tier, copies]) => [tierPlaces[tier]!, copies]))
    this.placed = placed
    this.position = position
    this.tierCount = tierCount
    this.forEachTier((_, before, after, due) => {
      this.before += before
      this.after += after
      this.loaded += Math.max(0, after - before)
      this.dropped += Math.max(0, before - after)
      // A tier may keep more replicas than its rule requires while other tiers lack some.
      this.unplaced += Math.max(0, due - after)
    })
    // Segments that a broadcast rule loaded on brokers stay there under a load rule.
    this.brokersAfter = target.action === 'load' ? brokers : this.copiesIn(tierCount)
    this.before += brokers
    this.after += this.brokersAfter
  }

  /** Returns the replicas in a tier after the change. The brokers follow the tiers. */
  copiesIn(holder: number): number {
    return this.placed.get(holder)?.[this.position] ?? this.target.byHolder.get(holder)?.copies ?? 0
  }

  /** Calls `visit` for each tier with replicas before, after, or due, in order. */
  forEachTier(visit: (tier: number, before: number, after: number, due: number) => void): void {
    const { target, held, placed, tierCount } = this
    const visitTier = (tier: number): void => {
      if (tier >= tierCount) return
      visit(tier, held.get(tier) ?? 0, this.copiesIn(tier), target.byHolder.get(tier)?.due ?? 0)
    }
    const kept = [...placed.keys()].filter((holder) => this.copiesIn(holder) > 0)
    const others = [...new Set([...held.keys(), ...kept])]
      .filter((holder) => !target.byHolder.has(holder))
      .sort((a, b) => a - b)
    let at = 0
    for (const { holder } of target.holders) {
      for (; at < others.length && others[at]! < holder; at += 1) visitTier(others[at]!)
      visitTier(holder)
    }
    for (; at < others.length; at += 1) visitTier(others[at]!)
  }
}

/** The visible segments of a datasource in pieces: ranges of positions in one chain with the same change. */
export interface Pieces {
  /** The position after each piece. */
  readonly ends: readonly number[]
  /** Index of each piece's change. */
  readonly changeAt: readonly number[]
  /** In the order of their first segments. */
  readonly changes: readonly CopyChange[]
}

/** What pieces are made of. */
interface PiecesInput {
  readonly stretches: readonly Stretch[]
  readonly targetOf: (rule: number) => RuleTarget
  readonly held: HeldRuns
  /** Undefined if no tier may run out of space. */
  readonly placed: PlacedColumns | undefined
  /** Names of the tiers of the cluster. */
  readonly tiers: readonly string[]
}

// Number of pieces or compared segments between two pauses.
const slice = 16_384

/** Cuts the segments of a datasource into pieces. Yields regularly. */
export function* piecesOf({
  stretches,
  targetOf,
  held,
  placed = new Map(),
  tiers,
}: PiecesInput): Generator<undefined, Pieces> {
  const ends: number[] = []
  const changeAt: number[] = []
  const changes = new Changes(held, placed, tiers)
  const columns = [...placed.values()]
  let work = 0
  for (const { from, to, rule, copies } of heldRanges(stretches, held)) {
    const target = targetOf(rule)
    for (let position = from; position < to; ) {
      const end = columns.length === 0 ? to : endOfEqual(columns, position, to)
      changeAt.push(changes.at(target, copies, position))
      ends.push(end)
      work += 1 + (end - position) * columns.length
      position = end
      if (work < slice) continue
      work = 0
      yield
    }
  }
  return { ends, changeAt, changes: changes.list }
}

/** Returns the first position after `from` where a column differs from its value there. */
function endOfEqual(columns: readonly Uint16Array[], from: number, limit: number): number {
  let end = limit
  for (const column of columns) {
    const value = column[from]!
    let at = from + 1
    while (at < end && column[at] === value) at += 1
    end = at
  }
  return end
}

// With more full tiers, segments rarely have equal replicas in all of them.
const maxComparedTiers = 16

/** The changes of a datasource, created once for segments with the same target and replicas. */
class Changes {
  readonly list: CopyChange[] = []
  private readonly byTarget = new Map<RuleTarget, Map<HeldCopies, Map<string, number>>>()
  private readonly context: ChangeContext

  constructor(held: HeldRuns, placed: PlacedColumns, tiers: readonly string[]) {
    const places = new Map(tiers.map((name, place) => [name, place]))
    const tierPlaces = held.tiers.map((name) => places.get(name)!)
    this.context = { placed, tierPlaces, tierCount: tiers.length }
  }

  /** Returns the index of the change of the segment at a position. */
  at(target: RuleTarget, held: HeldCopies, position: number): number {
    const { placed } = this.context
    if (placed.size > maxComparedTiers) return this.add(target, held, position)
    let text = ''
    for (const column of placed.values()) text += `${column[position]} `
    const ofTarget = getOrAdd(this.byTarget, target, () => new Map<HeldCopies, Map<string, number>>())
    const ofHeld = getOrAdd(ofTarget, held, () => new Map<string, number>())
    return getOrAdd(ofHeld, text, () => this.add(target, held, position))
  }

  private add(target: RuleTarget, held: HeldCopies, position: number): number {
    return this.list.push(new CopyChange(target, held, position, this.context)) - 1
  }
}

/** Returns the number of segments with each change, and their bytes. Yields regularly. */
export function* tallyChanges(
  { ends, changeAt, changes }: Pieces,
  { bytesBefore }: SegmentColumns,
): Generator<undefined, readonly Tally[]> {
  const tallies = changes.map(() => ({ segments: 0, bytes: 0 }))
  let from = 0
  for (let piece = 0; piece < ends.length; piece += 1) {
    if (piece % slice === 0) yield
    const to = ends[piece]!
    const tally = tallies[changeAt[piece]!]!
    tally.segments += to - from
    tally.bytes += bytesBefore[to]! - bytesBefore[from]!
    from = to
  }
  return tallies
}

/** Returns the time from the first start to the last end of the segments with each change. Yields regularly. */
export function* extentsOfChanges(
  { ends: pieceEnds, changeAt, changes }: Pieces,
  { starts, ends }: SegmentColumns,
): Generator<undefined, readonly Interval[]> {
  const extents = changes.map(() => ({ start: Infinity, end: -Infinity }))
  let from = 0
  for (let piece = 0; piece < pieceEnds.length; piece += 1) {
    if (piece % slice === 0) yield
    const to = pieceEnds[piece]!
    const extent = extents[changeAt[piece]!]!
    // Along a piece, starts and ends never decrease.
    extent.start = Math.min(extent.start, starts[from]!)
    extent.end = Math.max(extent.end, ends[to - 1]!)
    from = to
  }
  return extents
}
