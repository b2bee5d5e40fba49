import { RuleBoundaries } from '../rules/index.ts'
import type { DatasourceOutcome, PreviewRules, UnplacedDatasource } from './datasource-outcome.ts'
import { type HeldRuns, heldRunsOf } from './held-copies.ts'
import { type PlacedColumns, piecesOf } from './pieces.ts'
import { RuleTargets } from './rule-targets.ts'
import { columnsOf, type PreviewSegments, type SegmentColumns } from './segments.ts'
import { groupByTier, type PreviewServer, type ServersByTier } from './servers-by-tier.ts'
import { assertCanSimulate, Simulation } from './simulated-runs.ts'
import { stretchesOf } from './stretches.ts'
import { tightHolders } from './tight-tiers.ts'

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
  /**
   * Whether to assume that all replicas fit where tiers may run out of space. Simulating runs of the coordinator there
   * takes seconds for a million segments.
   */
  readonly assumesSpace?: boolean | undefined
}

/** What the rules require at one point in time. */
export interface UnplacedOutcome {
  readonly now: number
  readonly cluster: ServersByTier
  /** The servers after the change. */
  readonly servers: readonly PreviewServer[]
  readonly serversBefore: readonly PreviewServer[]
  readonly datasources: readonly UnplacedDatasource[]
}

/** What the rules result in at one point in time. */
export interface Outcome extends UnplacedOutcome {
  readonly datasources: readonly DatasourceOutcome[]
  /** Whether replicas are assumed to fit in tiers that may run out of space. */
  readonly assumesSpace: boolean
}

/** Returns the outcome of a datasource; undefined if nothing was decided about it. */
export const outcomeOf = (
  { datasources }: Pick<Outcome, 'datasources'>,
  dataSource: string,
): DatasourceOutcome | undefined => datasources.find(({ columns }) => columns.dataSource === dataSource)

/** Decides what the rules require of every segment. Yields regularly. */
export function* decideUnplaced(input: PreviewInput): Generator<undefined, UnplacedOutcome> {
  const { now, servers, serversBefore } = input
  const historicalsBefore = serversBefore.filter(({ type }) => type === 'historical')
  const cluster = groupByTier(
    servers,
    historicalsBefore.map(({ tier }) => tier),
  )
  const targets = new RuleTargets(cluster)
  const datasources: UnplacedDatasource[] = []
  for (const { segments, columns: known, held, own, defaults } of input.datasources) {
    const columns = known ?? (yield* columnsOf(segments))
    const boundaries = new RuleBoundaries(own, defaults, now)
    datasources.push({
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
  return { now, cluster, servers, serversBefore, datasources }
}

/** How to place replicas where tiers may run out of space. */
interface PlacementOptions {
  readonly assumesSpace?: boolean | undefined
  /** A simulation that has settled; without one, this function creates one where it is needed. */
  readonly simulation?: Simulation | undefined
}

/** Decides where the required replicas are placed. Yields regularly. */
export function* placeOutcome(
  unplaced: UnplacedOutcome,
  { assumesSpace = false, simulation }: PlacementOptions,
): Generator<undefined, Outcome> {
  const { cluster, datasources } = unplaced
  const tight = simulation === undefined ? yield* tightHolders(cluster, datasources) : new Set<number>()
  let placed: ReadonlyMap<UnplacedDatasource, PlacedColumns> = new Map()
  if (simulation !== undefined) placed = yield* simulation.placed()
  else if (tight.size > 0 && !assumesSpace) placed = yield* simulatePlacement(unplaced, tight)
  const tiers = cluster.tiers.map(({ name }) => name)
  const outcomes: DatasourceOutcome[] = []
  for (const one of datasources)
    outcomes.push({ ...one, pieces: yield* piecesOf({ ...one, placed: placed.get(one), tiers }) })
  return { ...unplaced, datasources: outcomes, assumesSpace: tight.size > 0 && assumesSpace }
}

function* simulatePlacement(
  { datasources, ...servers }: UnplacedOutcome,
  tight: ReadonlySet<number>,
): Generator<undefined, ReadonlyMap<UnplacedDatasource, PlacedColumns>> {
  assertCanSimulate(datasources, tight)
  const simulation = new Simulation({ ...servers, tight })
  for (const datasource of datasources) yield* simulation.add(datasource)
  yield* simulation.settle()
  return yield* simulation.placed()
}
