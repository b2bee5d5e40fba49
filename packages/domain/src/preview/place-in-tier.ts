import { Heap } from '../heap/index.ts'
import type { HeldRuns } from './held-copies.ts'
import type { RuleTarget } from './rule-targets.ts'
import type { SegmentColumns } from './segments.ts'
import type { ServersByTier } from './servers-by-tier.ts'
import { TierRoom } from './simulated-placement.ts'
import type { Stretch } from './stretches.ts'

/** A datasource whose replicas are not placed yet. */
export interface UnplacedDatasource {
  readonly columns: SegmentColumns
  readonly stretches: readonly Stretch[]
  /** Returns what a rule, given by number, results in. */
  readonly targetOf: (rule: number) => RuleTarget
  /** Replicas before the change. */
  readonly held: HeldRuns
}

/** Consecutive segments of a chain with the same number of replicas to place. */
interface Demand {
  readonly from: number
  readonly to: number
  readonly copies: number
}

// Number of placed replicas or visited segments between two pauses.
const slice = 16_384

/**
 * Places replicas one by one in a tier, or on brokers: loaded replicas stay, then the newest come first. Returns the
 * replicas of each segment by datasource and position. Yields regularly.
 */
export function* placeIn(
  datasources: readonly UnplacedDatasource[],
  { tiers, holders }: ServersByTier,
  holder: number,
): Generator<undefined, readonly Uint16Array[]> {
  const placed = datasources.map(({ columns }) => new Uint16Array(columns.count))
  const room = new TierRoom(holders[holder]!)
  const tier = tiers[holder]?.name
  let work = 0
  for (const isKept of [true, false]) {
    const demands = datasources.map((datasource) => demandsOf(datasource, { holder, tier, isKept }))
    for (const { datasource, from, to, copies } of newestFirst(datasources, demands)) {
      work += 1 + copies * (to - from)
      if (work >= slice) {
        work = 0
        yield
      }
      const { bytesBefore } = datasources[datasource]!.columns
      const column = placed[datasource]!
      for (let position = to - 1; position >= from; position -= 1)
        column[position]! += room.take(copies, bytesBefore[position + 1]! - bytesBefore[position]!)
    }
  }
  return placed
}

/** Yields the demands by datasource and chain, newest first, in groups with the same interval. The yielded object is reused. */
function* newestFirst(
  datasources: readonly UnplacedDatasource[],
  demands: readonly Iterable<Demand[]>[],
): Generator<Reader, void> {
  // One reader per demand would be too many. The demands of a chain follow each other, so read each chain backward.
  const readers = new Heap<Reader>(isNewer)
  for (const [index, { columns }] of datasources.entries()) {
    for (const ofChain of demands[index]!) {
      const reader = new Reader(index, readers.size, columns, ofChain)
      if (reader.next()) readers.push(reader)
    }
  }
  for (let reader = readers.pop(); reader !== undefined; reader = readers.pop()) {
    const { first } = readers
    do yield reader
    while (reader.next() && (first === undefined || isNewer(reader, first)))
    if (!reader.isDone) readers.push(reader)
  }
}

const isNewer = (a: Reader, b: Reader): boolean =>
  a.start > b.start || (a.start === b.start && (a.end > b.end || (a.end === b.end && a.place > b.place)))

/** Reads the segments of a chain backward, in groups with the same interval. */
class Reader {
  /** Index of the datasource. */
  readonly datasource: number
  /** Index among the readers. It keeps equal segments of one reader together. */
  readonly place: number
  isDone = false
  from = 0
  to = 0
  start = 0
  end = 0
  private demand: Demand = { from: 0, to: 0, copies: 0 }
  private readonly columns: SegmentColumns
  private readonly demands: Demand[]

  constructor(datasource: number, place: number, columns: SegmentColumns, demands: Demand[]) {
    this.datasource = datasource
    this.place = place
    this.columns = columns
    this.demands = demands
  }

  /** Replicas to place of each segment. */
  get copies(): number {
    return this.demand.copies
  }

  /** Reads the next group. Returns whether there is one. */
  next(): boolean {
    if (this.from === this.demand.from) {
      const demand = this.demands.pop()
      if (demand === undefined) {
        this.isDone = true
        return false
      }
      this.demand = demand
      this.from = demand.to
    }
    const { starts, ends } = this.columns
    const to = this.from
    const [start, end] = [starts[to - 1]!, ends[to - 1]!]
    const limit = Math.max(this.demand.from, to - slice)
    let from = to - 1
    while (from > limit && starts[from - 1] === start && ends[from - 1] === end) from -= 1
    this.from = from
    this.to = to
    this.start = start
    this.end = end
    return true
  }
}

/** Yields, for each chain, the replicas on a holder that are kept, or those that are loaded. */
function* demandsOf(
  { columns, stretches, targetOf, held }: UnplacedDatasource,
  {
    holder,
    tier,
    isKept,
  }: { readonly holder: number; readonly tier: string | undefined; readonly isKept: boolean },
): Generator<Demand[], void> {
  const heldTier = tier === undefined ? -1 : held.tiers.indexOf(tier)
  let stretchAt = 0
  let run = 0
  for (const chainEnd of columns.chainEnds) {
    const demands: Demand[] = []
    for (; stretchAt < stretches.length && stretches[stretchAt]!.to <= chainEnd; stretchAt += 1) {
      const { from, to, rule } = stretches[stretchAt]!
      const wanted = targetOf(rule).byHolder.get(holder)?.copies ?? 0
      for (let position = from; wanted > 0 && position < to; ) {
        while (held.ends[run]! <= position) run += 1
        const { byTier, brokers } = held.copies[run]!
        const before = tier === undefined ? brokers : (byTier.get(heldTier) ?? 0)
        const kept = Math.min(wanted, before)
        const copies = isKept ? kept : wanted - kept
        const end = Math.min(to, held.ends[run]!)
        if (copies > 0) demands.push({ from: position, to: end, copies })
        position = end
      }
    }
    yield demands
  }
}
