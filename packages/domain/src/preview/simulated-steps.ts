import type { UnplacedDatasource } from './datasource-outcome.ts'
import { Losses, lossesOf, type SegmentLoss } from './losses.ts'
import { type SimulatedServers, Simulation } from './simulated-runs.ts'
import {
  addCopies,
  type CopyTally,
  type MutableCopyTally,
  type MutableTierChange,
  noChange,
  noCopies,
} from './tallies.ts'

// Number of segments between two pauses.
const slice = 16_384

/** The segments of a datasource in the simulation, after the last step. */
interface SimulatedDatasource {
  readonly datasource: UnplacedDatasource
  /** The row of the segment at each position; -1 if the simulation does not include it. */
  readonly rows: Int32Array
  /** Segments that are not in the simulation before each position, and their bytes. */
  readonly othersBefore: Float64Array
  readonly otherBytesBefore: Float64Array
  /** Replicas by tier. */
  readonly totals: readonly MutableCopyTally[]
  readonly losses: Losses
  /** Replicas that are due and do not fit, by tier. */
  readonly unplaced: readonly MutableCopyTally[]
}

/** What a step does to the simulated segments of a datasource. */
export interface SimulatedStep {
  readonly changes: readonly MutableTierChange[]
  readonly losses: Losses
  readonly unplaced: readonly CopyTally[]
}

/** What a simulated segment lacks. */
interface Lack {
  readonly losses: readonly SegmentLoss[]
  readonly unplaced: readonly (readonly [tier: number, copies: number])[]
}

/**
 * Runs the planner of the coordinator at each step of a horizon, for the segments that have or need replicas in holders
 * that may run out of space. All numbers follow the segments that change, because most segments do not.
 */
export class SimulatedSteps {
  readonly simulation: Simulation
  private readonly datasources: SimulatedDatasource[] = []
  private readonly tiers: readonly string[]
  private readonly lacks = new Map<number, Lack>()
  /** Segments that were unqueryable before the first step; undefined until then. */
  private firstUnqueryable: ReadonlySet<number> | undefined
  /** Segments whose rule has changed since the last step. */
  private readonly changedRows = new Set<number>()
  private readonly datasourceOf: number[] = []
  private readonly positionOf: number[] = []

  constructor(servers: SimulatedServers) {
    this.simulation = new Simulation(servers)
    this.tiers = servers.cluster.tiers.map(({ name }) => name)
  }

  /** Adds a datasource. The simulation includes at least the segments at the marked positions. Yields regularly. */
  *add(datasource: UnplacedDatasource, marks: Uint8Array): Generator<undefined, void> {
    const rows = yield* this.simulation.add(datasource, marks)
    const { bytesBefore, count } = datasource.columns
    const othersBefore = new Float64Array(count + 1)
    const otherBytesBefore = new Float64Array(count + 1)
    for (let position = 0; position < count; position += 1) {
      if (position % slice === 0) yield
      const row = rows[position]!
      const isOther = row < 0
      const bytes = bytesBefore[position + 1]! - bytesBefore[position]!
      othersBefore[position + 1] = othersBefore[position]! + (isOther ? 1 : 0)
      otherBytesBefore[position + 1] = otherBytesBefore[position]! + (isOther ? bytes : 0)
      if (isOther) continue
      this.datasourceOf[row] = this.datasources.length
      this.positionOf[row] = position
    }
    this.datasources.push({
      datasource,
      rows,
      othersBefore,
      otherBytesBefore,
      totals: this.tiers.map(noCopies),
      losses: new Losses(),
      unplaced: this.tiers.map(noCopies),
    })
  }

  /** Does what the coordinator does before the first step. Yields regularly. */
  *start(): Generator<undefined, void> {
    yield* this.simulation.settle()
    this.simulation.takeChanges()
    let work = 0
    const counts = new Map<number, number>()
    for (const one of this.datasources) {
      for (const [position, row] of one.rows.entries()) {
        work += 1
        if (work % slice === 0) yield
        if (row < 0) continue
        const bytes = this.bytesAt(one, position)
        this.simulation.copiesOf(row, counts)
        for (const [holder, copies] of counts)
          if (holder < this.tiers.length) addCopies(one.totals[holder]!, 1, copies, bytes)
        this.noteLack(row, one, bytes, counts)
      }
    }
    const isUnqueryable = ([, { losses }]: [number, Lack]) => losses.some(([name]) => name === 'unqueryable')
    this.firstUnqueryable = new Set([...this.lacks].filter(isUnqueryable).map(([row]) => row))
  }

  /** Returns the segments between two positions that the simulation does not include. */
  othersIn(datasource: number, from: number, to: number): { segments: number; bytes: number } {
    const { othersBefore, otherBytesBefore } = this.datasources[datasource]!
    return {
      segments: othersBefore[to]! - othersBefore[from]!,
      bytes: otherBytesBefore[to]! - otherBytesBefore[from]!,
    }
  }

  /** Applies another rule to the simulated segments between two positions. Yields regularly. */
  *changeRule(datasource: number, from: number, to: number, rule: number): Generator<undefined, void> {
    const { rows } = this.datasources[datasource]!
    for (let position = from; position < to; position += 1) {
      if (position % slice === 0) yield
      const row = rows[position]!
      if (row < 0) continue
      this.simulation.changeRule(row, rule)
      this.changedRows.add(row)
    }
  }

  /** Does what the coordinator does at a step. Returns what changes, by datasource. Yields regularly. */
  *step(): Generator<undefined, readonly SimulatedStep[]> {
    yield* this.simulation.settle()
    return yield* this.account()
  }

  /** Returns to the last checkpoint of the simulation, after the caller has restored the rules. Yields regularly. */
  *restore(): Generator<undefined, void> {
    yield* this.simulation.restore()
    yield* this.account()
  }

  /** Counts what has changed since the last call. Returns it by datasource. Yields regularly. */
  private *account(): Generator<undefined, readonly SimulatedStep[]> {
    const changed = this.simulation.takeChanges()
    const steps = this.datasources.map(({ totals }) =>
      this.tiers.map((_, tier) => ({ ...noChange(), before: { ...totals[tier]! } })),
    )
    let work = 0
    const counts = new Map<number, number>()
    for (const row of new Set([...this.changedRows, ...changed.keys()])) {
      work += 1
      if (work % slice === 0) yield
      const at = this.datasourceOf[row]!
      const one = this.datasources[at]!
      const bytes = this.bytesAt(one, this.positionOf[row]!)
      this.simulation.copiesOf(row, counts)
      for (const [tier, gained] of changed.get(row) ?? []) {
        if (tier >= this.tiers.length) continue
        const after = counts.get(tier) ?? 0
        noteGained(one.totals[tier]!, steps[at]![tier]!, { after, gained, bytes })
      }
      this.noteLack(row, one, bytes, counts)
    }
    this.changedRows.clear()
    return this.datasources.map(({ totals, losses, unplaced }, at) => ({
      changes: steps[at]!.map((change, tier) => ({ ...change, after: { ...totals[tier]! } })),
      losses,
      unplaced,
    }))
  }

  private bytesAt({ datasource }: SimulatedDatasource, position: number): number {
    const { bytesBefore } = datasource.columns
    return bytesBefore[position + 1]! - bytesBefore[position]!
  }

  /** Counts what a segment lacks now, instead of what it lacked after the last step. */
  private noteLack(
    row: number,
    one: SimulatedDatasource,
    bytes: number,
    copies: ReadonlyMap<number, number>,
  ): void {
    const before = this.lacks.get(row)
    if (before !== undefined) {
      addLack(one, before, bytes, -1)
      this.lacks.delete(row)
    }
    const target = this.simulation.targetOf(row)
    const unplaced: [tier: number, copies: number][] = []
    let missing = 0
    for (const { holder, due } of target.holders) {
      const lacking = due - (copies.get(holder) ?? 0)
      if (holder >= this.tiers.length || lacking <= 0) continue
      unplaced.push([holder, lacking])
      missing += lacking
    }
    let total = 0
    for (const count of copies.values()) total += count
    const losses: SegmentLoss[] = lossesOf(target, total, missing)
    if (total === 0 && this.firstUnqueryable?.has(row) === false) losses.push(['newlyUnqueryable', 1])
    if (losses.length === 0) return
    const lack = { losses, unplaced }
    this.lacks.set(row, lack)
    addLack(one, lack, bytes, 1)
    for (const tier of target.waitingTiers) one.losses.waitingTiers.add(tier)
    for (const [tier] of unplaced) one.losses.fullTiers.add(this.tiers[tier]!)
  }
}

/** Counts replicas that a segment has gained in a tier since the step before. */
function noteGained(
  total: MutableCopyTally,
  change: MutableTierChange,
  { after, gained, bytes }: { readonly after: number; readonly gained: number; readonly bytes: number },
): void {
  addCopies(total, -1, after - gained, -bytes)
  addCopies(total, 1, after, bytes)
  if (gained > 0) addCopies(change.loaded, 1, gained, bytes)
  else addCopies(change.dropped, 1, -gained, bytes)
}

function addLack(one: SimulatedDatasource, { losses, unplaced }: Lack, bytes: number, sign: 1 | -1): void {
  one.losses.add(losses, 1, bytes, sign)
  for (const [tier, copies] of unplaced) addCopies(one.unplaced[tier]!, sign, copies, sign * bytes)
}
