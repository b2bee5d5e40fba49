import { invalidInput } from '../failure/index.ts'
import { RuleBoundaries } from '../rules/index.ts'
import type { DatasourceOutcome, PreviewRules } from './datasource-outcome.ts'
import { RuleTargets } from './rule-targets.ts'
import type { PreviewSegments, SegmentColumns } from './segments.ts'
import { columnsOf } from './segments.ts'
import { groupByTier, type PreviewServer, type ServersByTier } from './servers-by-tier.ts'
import { simulateRuns } from './simulated-runs.ts'
import { stretchesOf } from './stretches.ts'
import { addCopies, noCopies } from './tallies.ts'
import { tightHolders } from './tight-tiers.ts'

/** Input of a preview. */
export interface PreviewInput {
  /** Epoch milliseconds. */
  readonly now: number
  readonly datasources: readonly (PreviewRules & {
    readonly segments: PreviewSegments
    /** The segments in columns, if already known. */
    readonly columns: SegmentColumns | undefined
  })[]
  /** The servers after the change. */
  readonly servers: readonly PreviewServer[]
  /** The current servers. Segments refer to them by their index in this list. */
  readonly serversBefore: readonly PreviewServer[]
}

/** What the rules result in at one point in time. */
export interface Outcome {
  readonly now: number
  readonly cluster: ServersByTier
  readonly datasources: readonly DatasourceOutcome[]
}

// Number of segments between two pauses.
const slice = 16_384

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
  const datasources: DatasourceOutcome[] = []
  for (const { segments, columns: known, own, defaults } of input.datasources) {
    const columns = known ?? (yield* columnsOf(segments))
    const boundaries = new RuleBoundaries(own, defaults, now)
    const stretches = yield* stretchesOf(columns, boundaries)
    const copies = yield* countCopies(segments, columns, serversBefore, cluster)
    datasources.push({
      own,
      defaults,
      segments,
      columns,
      boundaries,
      targetOf: (rule) => targets.of(boundaries.wantedBy(rule)),
      stretches,
      ...copies,
      placed: cluster.holders.map(() => undefined),
    })
  }
  const outcome = { now, cluster, datasources }
  yield* placeWhereTight(outcome, input)
  return outcome
}

function* countCopies(
  segments: PreviewSegments,
  { indexes, count, overshadowedIndexes }: SegmentColumns,
  servers: readonly PreviewServer[],
  { holders, tiers }: ServersByTier,
): Generator<undefined, Pick<DatasourceOutcome, 'before' | 'overshadowedBefore' | 'overshadowedCopies'>> {
  const before: (Uint16Array | undefined)[] = holders.map(() => undefined)
  const overshadowedBefore = holders.map(noCopies)
  const overshadowedCopies = new Uint16Array(overshadowedIndexes.length)
  if (servers.length === 0) return { before, overshadowedBefore, overshadowedCopies }
  const tierPlaces = new Map(tiers.map(({ name }, place) => [name, place]))
  const holderOf = servers.map(({ type, tier }) => (type === 'broker' ? tiers.length : tierPlaces.get(tier)!))
  let position = 0
  const note = (server: number): void => {
    const holder = holderOf[server]!
    before[holder] ??= new Uint16Array(count)
    before[holder][position]! += 1
  }
  for (; position < count; position += 1) {
    if (position % slice === 0) yield
    segments.forEachCopy(indexes[position]!, note)
  }
  for (const [at, index] of overshadowedIndexes.entries()) {
    if (at % slice === 0) yield
    const copies = new Map<number, number>()
    segments.forEachCopy(index, (server) => {
      const holder = holderOf[server]!
      copies.set(holder, (copies.get(holder) ?? 0) + 1)
      if (holder < tiers.length) overshadowedCopies[at]! += 1
    })
    for (const [holder, count] of copies)
      addCopies(overshadowedBefore[holder]!, 1, count, segments.sizeBytes(index))
  }
  return { before, overshadowedBefore, overshadowedCopies }
}

/** Simulates runs of the coordinator where tiers may run out of space. */
function* placeWhereTight(
  { cluster, datasources }: Outcome,
  { servers, serversBefore }: PreviewInput,
): Generator<undefined, void> {
  const tight = yield* tightHolders(cluster, datasources)
  if (tight.size === 0) return
  const segments = datasources.reduce((sum, { columns }) => sum + columns.count, 0)
  if (tight.size * segments > maxCounters) {
    throw invalidInput(
      `The preview is too large: [${segments}] segments in [${tight.size}] tiers that may run out of space. Preview fewer segments or tiers, or servers with enough space for all replicas.`,
    )
  }
  yield* simulateRuns(datasources, { cluster, servers, serversBefore, tight })
}
