import type { DatasourceOutcome } from './datasource-outcome.ts'
import type { RuleTarget } from './rule-targets.ts'
import type { PreviewTier, ServersByTier } from './servers-by-tier.ts'

// Number of segments between two pauses.
const slice = 16_384

/** Total demand of a tier, or of the brokers. */
interface Demand {
  /** Sum of the sizes of all replicas. */
  bytes: number
  largestSegmentBytes: number
  /** Whether a load rule requires a replica on each of more servers than have storage. */
  isShort: boolean
}

/**
 * Returns the holders that may run out of space, by index: those whose replicas may not fit, and if there are any, also
 * those that may not have room for the new replicas before they have dropped others. Yields regularly.
 */
export function* tightHolders(
  { holders }: ServersByTier,
  datasources: readonly DatasourceOutcome[],
): Generator<undefined, ReadonlySet<number>> {
  const demands = yield* demandsOf(datasources)
  const tight = () =>
    new Set([...demands.keys()].filter((holder) => !certainlyFits(holders[holder]!, demands.get(holder)!)))
  if (tight().size === 0) return tight()
  for (const datasource of datasources) yield* addDrops(datasource, demands)
  return tight()
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
function* demandsOf(datasources: readonly DatasourceOutcome[]): Generator<undefined, Map<number, Demand>> {
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
      for (let position = from; position < to; position += 1) {
        const sizeBytes = bytesBefore[position + 1]! - bytesBefore[position]!
        if (sizeBytes > sum.largestSegmentBytes) sum.largestSegmentBytes = sizeBytes
        seen += 1
        if (seen % slice === 0) yield
      }
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

/** Adds the replicas that a datasource has and no longer requires, because they take space until they are dropped. */
function* addDrops(
  { columns, stretches, targetOf, before, overshadowedBefore }: DatasourceOutcome,
  demands: Map<number, Demand>,
): Generator<undefined, void> {
  const { bytesBefore } = columns
  for (const [holder, held] of before.entries()) {
    const drops = { ...noDemand(), bytes: overshadowedBefore[holder]!.bytes }
    for (const { from, to, rule } of held === undefined ? [] : stretches) {
      const copies = targetOf(rule).byHolder.get(holder)?.copies ?? 0
      for (let position = from; position < to; position += 1) {
        if (position % slice === 0) yield
        const dropped = held![position]! - copies
        if (dropped <= 0) continue
        const sizeBytes = bytesBefore[position + 1]! - bytesBefore[position]!
        drops.bytes += dropped * sizeBytes
        drops.largestSegmentBytes = Math.max(drops.largestSegmentBytes, sizeBytes)
      }
    }
    addDemand(demands, holder, drops)
  }
}
