import { invalidInput } from '../failure/index.ts'
import { RuleBoundaries } from '../rules/index.ts'
import type { DatasourceOutcome, PreviewRules, UnplacedDatasource } from './datasource-outcome.ts'
import { type HeldRuns, heldRunsOf } from './held-copies.ts'
import { type PlacedColumns, piecesOf } from './pieces.ts'
import { RuleTargets } from './rule-targets.ts'
import { columnsOf, type PreviewSegments, type SegmentColumns } from './segments.ts'
import { groupByTier, type PreviewServer, type ServersByTier } from './servers-by-tier.ts'
import { simulateRuns } from './simulated-runs.ts'
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

/** What the rules result in at one point in time. */
export interface Outcome {
  readonly now: number
  readonly cluster: ServersByTier
  readonly datasources: readonly DatasourceOutcome[]
  /** Whether replicas are assumed to fit in tiers that may run out of space. */
  readonly assumesSpace: boolean
}

// Maximum number of counters for replicas in tiers that may run out of space. Each takes two bytes.
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
  const unplaced: UnplacedDatasource[] = []
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
  const tight = yield* tightHolders(cluster, unplaced)
  const assumesSpace = tight.size > 0 && input.assumesSpace === true
  const placed = assumesSpace ? new Map() : yield* placeWhereTight(unplaced, cluster, tight, input)
  const tiers = cluster.tiers.map(({ name }) => name)
  const datasources: DatasourceOutcome[] = []
  for (const one of unplaced)
    datasources.push({ ...one, pieces: yield* piecesOf({ ...one, placed: placed.get(one), tiers }) })
  return { now, cluster, datasources, assumesSpace }
}

/** Simulates runs of the coordinator where tiers may run out of space. Returns the replicas of segments there. */
function* placeWhereTight(
  datasources: readonly UnplacedDatasource[],
  cluster: ServersByTier,
  tight: ReadonlySet<number>,
  { servers, serversBefore }: PreviewInput,
): Generator<undefined, ReadonlyMap<UnplacedDatasource, PlacedColumns>> {
  if (tight.size === 0) return new Map()
  const segments = datasources.reduce((sum, { columns }) => sum + columns.count, 0)
  if (tight.size * segments > maxCounters) {
    throw invalidInput(
      `The preview is too large: [${segments}] segments in [${tight.size}] tiers that may run out of space. Preview fewer segments or tiers, or specify servers with enough space for all replicas.`,
    )
  }
  return yield* simulateRuns(datasources, { cluster, servers, serversBefore, tight })
}
