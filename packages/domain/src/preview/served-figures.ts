import { ruleBoundariesOf } from '../rules/index.ts'
import type { Interval } from '../time/index.ts'
import type { DatasourceOutcome } from './datasource-outcome.ts'
import { heldRunsOf } from './held-copies.ts'
import { type CopyChange, type Pieces, piecesOf, tallyChanges } from './pieces.ts'
import type { PreviewedCluster } from './previewed-cluster.ts'
import { RuleTargets } from './rule-targets.ts'
import { columnsOf, type Tally } from './segments.ts'
import { groupByTier } from './servers-by-tier.ts'
import { stretchesOf } from './stretches.ts'

/** How much data a datasource has, and how completely it is served. */
export interface ServedFigures {
  readonly name: string
  /** Visible segments. */
  readonly segments: number
  readonly bytes: number
  readonly overshadowed: number
  readonly extent: Interval | undefined
  /** Visible segments without any replica, although their rule requires one. */
  readonly unserved: number
  /** Visible segments with some of their replicas. */
  readonly underReplicated: number
  /** Bytes of served replicas by tier. */
  readonly bytesByTier: Readonly<Record<string, number>>
}

/** Returns the figures of all datasources under the stored rules. Yields regularly. */
export function* servedFiguresOf(cluster: PreviewedCluster): Generator<undefined, ServedFigures[]> {
  const { tiers, holders } = groupByTier(cluster.servers)
  const names = tiers.map(({ name }) => name)
  const targets = new RuleTargets({ tiers, holders, unable: [] })
  const figures: ServedFigures[] = []
  for (const datasource of cluster.datasources) {
    const { segments } = datasource
    const columns = datasource.columns ?? (yield* columnsOf(segments))
    const held = datasource.held ?? (yield* heldRunsOf(segments, columns, cluster.servers))
    datasource.keep(columns, held)
    const boundaries = ruleBoundariesOf(cluster.rules, segments.dataSource, cluster.now)
    const pieces = yield* piecesOf({
      stretches: yield* stretchesOf(columns, boundaries),
      targetOf: (rule) => targets.of(boundaries.wantedBy(rule)),
      held,
      placed: undefined,
      tiers: names,
    })
    figures.push({
      name: columns.dataSource,
      segments: columns.count,
      bytes: columns.bytesBefore[columns.count]!,
      overshadowed: columns.overshadowed.segments,
      extent: columns.extent,
      ...countServed(pieces, yield* tallyChanges(pieces, columns), names),
    })
  }
  return figures
}

function countServed(
  { changes }: Pieces,
  tallies: readonly Tally[],
  tiers: readonly string[],
): Pick<ServedFigures, 'unserved' | 'underReplicated' | 'bytesByTier'> {
  const bytesByTier = new Map<string, number>()
  let [unserved, underReplicated] = [0, 0]
  for (const [index, change] of changes.entries()) {
    const { segments, bytes } = tallies[index]!
    change.forEachTier((tier, before) => {
      const name = tiers[tier]!
      if (before > 0) bytesByTier.set(name, (bytesByTier.get(name) ?? 0) + before * bytes)
    })
    const shortage = shortageOf(change)
    if (shortage === 'unserved') unserved += segments
    if (shortage === 'underReplicated') underReplicated += segments
  }
  return { unserved, underReplicated, bytesByTier: Object.fromEntries(bytesByTier) }
}

/** Returns whether segments lack all or some of the replicas that their rule requires; undefined if they lack none. */
function shortageOf(change: CopyChange): 'unserved' | 'underReplicated' | undefined {
  const { action, beyondServers, waiting } = change.target
  if (action !== 'load') return undefined
  let [served, required] = [0, beyondServers + waiting]
  change.forEachTier((_, before, __, due) => {
    served += before
    required += due
  })
  if (served >= required) return undefined
  return served === 0 ? 'unserved' : 'underReplicated'
}

/** Returns which segments of a datasource lack replicas, as 1 at their index. */
export function lackingSegments({ segments, columns, pieces }: DatasourceOutcome): Uint8Array {
  const lacking = new Uint8Array(segments.count)
  let from = 0
  for (const [piece, to] of pieces.ends.entries()) {
    if (shortageOf(pieces.changes[pieces.changeAt[piece]!]!) !== undefined)
      for (let position = from; position < to; position += 1) lacking[columns.indexes[position]!] = 1
    from = to
  }
  return lacking
}
