import type { UnplacedDatasource } from './datasource-outcome.ts'
import { heldRanges } from './held-copies.ts'
import type { RuleTarget } from './rule-targets.ts'
import { largestSizeIn } from './segments.ts'
import type { PreviewTier, ServersByTier } from './servers-by-tier.ts'

// Number of ranges of segments between two pauses.
const slice = 16_384

/** Total demand of a tier, or of the brokers. */
interface Demand {
  /** Sum of the sizes of all replicas. */
  bytes: number
  largestSegmentBytes: number
  /** Whether a load rule requires a replica on each of more servers than have storage. */
  isShort: boolean
}

/** The largest demand of a holder at the steps of a horizon. */
export interface LaterDemand {
  bytes: number
  /** Including the replicas that the same step drops. */
  bytesWithDrops: number
  isShort: boolean
}

/** Returns a demand for nothing. */
export const noLaterDemand = (): LaterDemand => ({ bytes: 0, bytesWithDrops: 0, isShort: false })

/**
 * Returns the holders that may run out of space, by index: those whose replicas may not fit, and if there are any, also
 * those that may not have room for the new replicas before they have dropped others. With `later`, the demand of each
 * holder at the steps of a horizon, includes holders that may run out of space then. Yields regularly.
 */
export function* tightHolders(
  cluster: ServersByTier,
  datasources: readonly UnplacedDatasource[],
  later: readonly LaterDemand[] = [],
): Generator<undefined, ReadonlySet<number>> {
  const { holders } = cluster
  const demands = yield* demandsOf(datasources)
  for (const datasource of datasources) yield* addKept(datasource, cluster, demands)
  const largestSegmentBytes = datasources.reduce(
    (largest, { columns }) => Math.max(largest, largestSizeIn(columns, 0, columns.count)),
    0,
  )
  const tightWith = (laterBytesOf: (demand: LaterDemand) => number): Set<number> => {
    const now = [...demands].filter(([holder, demand]) => !certainlyFits(holders[holder]!, demand))
    const then = later.flatMap((demand, holder) => {
      const largest = { bytes: laterBytesOf(demand), largestSegmentBytes, isShort: demand.isShort }
      return certainlyFits(holders[holder]!, largest) ? [] : [holder]
    })
    return new Set([...now.map(([holder]) => holder), ...then])
  }
  const tight = tightWith(({ bytes }) => bytes)
  if (tight.size === 0) return tight
  for (const datasource of datasources) yield* addDrops(datasource, cluster, demands)
  return tightWith(({ bytesWithDrops }) => bytesWithDrops)
}

/**
 * Returns whether all replicas certainly fit, without checking each of them. Because each replica goes to the emptiest
 * server, the usage of servers with the same size differs by at most the size of the largest segment.
 */
function certainlyFits({ able }: PreviewTier, { bytes, largestSegmentBytes, isShort }: Demand): boolean {
  if (isShort) return false
  if (bytes === 0) return true
  const smallest = able.reduce((min, { maxSizeBytes }) => Math.min(min, maxSizeBytes), Infinity)
  return smallest === Infinity || bytes / able.length + largestSegmentBytes <= smallest
}

const noDemand = (): Demand => ({ bytes: 0, largestSegmentBytes: 0, isShort: false })

function addDemand(
  demands: Map<number, Demand>,
  holder: number,
  { bytes, largestSegmentBytes, isShort }: Demand,
): void {
  const demand = demands.get(holder) ?? noDemand()
  demands.set(holder, demand)
  demand.bytes += bytes
  demand.largestSegmentBytes = Math.max(demand.largestSegmentBytes, largestSegmentBytes)
  demand.isShort ||= isShort
}

/** Returns what the rules require of each holder, without holders that get nothing. */
function* demandsOf(datasources: readonly UnplacedDatasource[]): Generator<undefined, Map<number, Demand>> {
  // Sums by target first, then by holder, because there may be many segments and many holders.
  const byTarget = new Map<RuleTarget, Demand>()
  let seen = 0
  for (const { columns, stretches, targetOf } of datasources) {
    const { bytesBefore } = columns
    for (const { from, to, rule } of stretches) {
      const target = targetOf(rule)
      if (target.holders.length === 0) continue
      const sum = byTarget.get(target) ?? noDemand()
      byTarget.set(target, sum)
      sum.bytes += bytesBefore[to]! - bytesBefore[from]!
      sum.largestSegmentBytes = Math.max(sum.largestSegmentBytes, largestSizeIn(columns, from, to))
      seen += 1
      if (seen % slice === 0) yield
    }
  }
  const demands = new Map<number, Demand>()
  for (const [{ action, holders }, { bytes, largestSegmentBytes }] of byTarget) {
    yield
    for (const { holder, copies, due } of holders) {
      const isShort = action === 'load' && copies < due
      if (copies > 0 || isShort)
        addDemand(demands, holder, { bytes: copies * bytes, largestSegmentBytes, isShort })
    }
  }
  return demands
}

/** Adds the replicas on brokers that load rules keep. */
function* addKept(
  { columns, stretches, targetOf, held }: UnplacedDatasource,
  { tiers }: ServersByTier,
  demands: Map<number, Demand>,
): Generator<undefined, void> {
  if (held.copies.every(({ brokers }) => brokers === 0)) return
  const { bytesBefore } = columns
  let seen = 0
  for (const { from, to, rule, copies } of heldRanges(stretches, held)) {
    seen += 1
    if (seen % slice === 0) yield
    if (copies.brokers === 0 || targetOf(rule).action !== 'load') continue
    const bytes = copies.brokers * (bytesBefore[to]! - bytesBefore[from]!)
    const largestSegmentBytes = largestSizeIn(columns, from, to)
    addDemand(demands, tiers.length, { bytes, largestSegmentBytes, isShort: false })
  }
}

/** Adds the replicas that a datasource has and no longer requires, because they take space until they are dropped. */
function* addDrops(
  { columns, stretches, targetOf, held }: UnplacedDatasource,
  { tiers }: ServersByTier,
  demands: Map<number, Demand>,
): Generator<undefined, void> {
  const { bytesBefore } = columns
  const places = new Map(tiers.map(({ name }, place) => [name, place]))
  const holderOf = held.tiers.map((name) => places.get(name)!)
  let seen = 0
  for (const { from, to, rule, copies } of heldRanges(stretches, held)) {
    seen += 1
    if (seen % slice === 0) yield
    const { action, byHolder } = targetOf(rule)
    const add = (holder: number, before: number): void => {
      const dropped = before - (byHolder.get(holder)?.copies ?? 0)
      if (dropped <= 0) return
      const bytes = dropped * (bytesBefore[to]! - bytesBefore[from]!)
      const largestSegmentBytes = largestSizeIn(columns, from, to)
      addDemand(demands, holder, { bytes, largestSegmentBytes, isShort: false })
    }
    for (const [tier, before] of copies.byTier) add(holderOf[tier]!, before)
    if (action !== 'load') add(tiers.length, copies.brokers)
  }
  const { byTier, onBrokers } = held.overshadowed
  for (const [tier, { bytes }] of byTier.entries())
    addDemand(demands, holderOf[tier]!, { ...noDemand(), bytes })
  addDemand(demands, tiers.length, { ...noDemand(), bytes: onBrokers.bytes })
}
