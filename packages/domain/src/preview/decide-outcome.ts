import { invalidInput } from '../failure/index.ts'
import { type Rule, RuleBoundaries } from '../rules/index.ts'
import { type HeldRuns, heldRunsOf } from './held-copies.ts'
import { type Pieces, type PlacedColumns, piecesOf } from './pieces.ts'
import { placeIn, type UnplacedDatasource } from './place-in-tier.ts'
import { type RuleTarget, RuleTargets } from './rule-targets.ts'
import { columnsOf, largestSizeIn, type PreviewSegments, type SegmentColumns } from './segments.ts'
import { groupByTier, type PreviewServer, type ServersByTier } from './servers-by-tier.ts'
import { certainlyFits, type TierDemand } from './simulated-placement.ts'
import { type Stretch, stretchesOf } from './stretches.ts'

/** The rules of a datasource after the change. */
export interface PreviewRules {
  readonly own: readonly Rule[]
  readonly defaults: readonly Rule[]
}

/** Input of a preview. */
export interface PreviewInput {
  /** Epoch milliseconds. */
  readonly now: number
  readonly datasources: readonly (PreviewRules & {
    readonly segments: PreviewSegments
    /** The segments in columns, if already known. */
    readonly columns: SegmentColumns | undefined
    /** The replicas on the current servers, if already known. */
    readonly held?: HeldRuns | undefined
  })[]
  /** The servers after the change. */
  readonly servers: readonly PreviewServer[]
  /** The current servers. Segments refer to them by their index in this list. */
  readonly serversBefore: readonly PreviewServer[]
}

/** What happens to the segments of one datasource. */
export interface DatasourceOutcome extends PreviewRules {
  readonly segments: PreviewSegments
  readonly columns: SegmentColumns
  /** All rules in evaluation order. */
  readonly boundaries: RuleBoundaries
  /** Returns what a rule, given by number, results in. */
  readonly targetOf: (rule: number) => RuleTarget
  readonly stretches: readonly Stretch[]
  /** Replicas before the change. */
  readonly held: HeldRuns
  readonly pieces: Pieces
}

/** What the rules result in at one point in time. */
export interface Outcome {
  readonly now: number
  readonly cluster: ServersByTier
  readonly datasources: readonly DatasourceOutcome[]
}

// Number of segments between two pauses.
const slice = 16_384

// Maximum number of counters for replicas that are placed one by one. Each takes two bytes.
const maxCounters = 40_000_000

/** Decides what happens to every segment. Yields regularly. */
export function* decideOutcome(input: PreviewInput): Generator<undefined, Outcome> {
  const { now, servers, serversBefore } = input
  const historicalsBefore = serversBefore.filter(({ type }) => type === 'historical')
  const cluster = groupByTier(
    servers,
    historicalsBefore.map(({ tier }) => tier),
  )
  const targets = new RuleTargets(cluster)
  const unplaced: Omit<DatasourceOutcome, 'pieces'>[] = []
  for (const { segments, columns: known, held, own, defaults } of input.datasources) {
    const columns = known ?? (yield* columnsOf(segments))
    const boundaries = new RuleBoundaries(own, defaults, now)
    unplaced.push({
      own,
      defaults,
      segments,
      columns,
      boundaries,
      targetOf: (rule) => targets.of(boundaries.wantedBy(rule)),
      stretches: yield* stretchesOf(columns, boundaries),
      held: held ?? (yield* heldRunsOf(segments, columns, serversBefore)),
    })
  }
  const placed = yield* placeWhereTight(unplaced, cluster)
  const tiers = cluster.tiers.map(({ name }) => name)
  const datasources: DatasourceOutcome[] = []
  for (const [index, one] of unplaced.entries())
    datasources.push({ ...one, pieces: yield* piecesOf({ ...one, placed: placed[index]!, tiers }) })
  return { now, cluster, datasources }
}

/**
 * Places replicas one by one in tiers that may run out of space: loaded replicas stay, then the newest come first.
 * Returns the replicas of each datasource in these tiers.
 */
function* placeWhereTight(
  datasources: readonly UnplacedDatasource[],
  cluster: ServersByTier,
): Generator<undefined, readonly PlacedColumns[]> {
  const demands = yield* demandsOf(datasources)
  const tight = [...demands.keys()].filter(
    (holder) => !certainlyFits(cluster.holders[holder]!, demands.get(holder)!),
  )
  const segments = datasources.reduce((sum, { columns }) => sum + columns.count, 0)
  if (tight.length * segments > maxCounters) {
    throw invalidInput(
      `The preview is too large: [${segments}] segments in [${tight.length}] tiers that may run out of space. Preview fewer segments or tiers, or servers with enough space for all replicas.`,
    )
  }
  const placed = datasources.map(() => new Map<number, Uint16Array>())
  for (const holder of tight.sort((a, b) => a - b)) {
    const columns = yield* placeIn(datasources, cluster, holder)
    for (const [index, column] of columns.entries()) placed[index]!.set(holder, column)
  }
  return placed
}

/** Returns the total demand of each holder, without holders that get nothing. */
function* demandsOf(
  datasources: readonly UnplacedDatasource[],
): Generator<undefined, Map<number, TierDemand>> {
  // Sums by target first, then by holder, because there may be many segments and many holders.
  const byTarget = new Map<RuleTarget, TierDemand>()
  let seen = 0
  for (const { columns, stretches, targetOf } of datasources) {
    const { bytesBefore } = columns
    for (const { from, to, rule } of stretches) {
      const target = targetOf(rule)
      if (target.holders.length === 0) continue
      const sum = byTarget.get(target) ?? { bytes: 0, largestSegmentBytes: 0 }
      byTarget.set(target, sum)
      sum.bytes += bytesBefore[to]! - bytesBefore[from]!
      sum.largestSegmentBytes = Math.max(sum.largestSegmentBytes, largestSizeIn(columns, from, to))
      seen += 1
      if (seen % slice === 0) yield
    }
  }
  const demands = new Map<number, TierDemand>()
  for (const [{ holders }, { bytes, largestSegmentBytes }] of byTarget) {
    yield
    for (const { holder, copies } of holders) {
      if (copies === 0) continue
      const demand = demands.get(holder) ?? { bytes: 0, largestSegmentBytes: 0 }
      demands.set(holder, demand)
      demand.bytes += copies * bytes
      demand.largestSegmentBytes = Math.max(demand.largestSegmentBytes, largestSegmentBytes)
    }
  }
  return demands
}
