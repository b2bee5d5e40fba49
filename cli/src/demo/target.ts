import { compileRules, effectiveRules, matchRule, parseRules } from '@svc/domain/rules'
import type { Interval } from '@svc/domain/time'
import { countOf } from '../terminal/index.ts'
import type { ClusterView } from './cluster-view.ts'

/** A tier and its number of servers. */
export interface TierSize {
  readonly tier: string
  readonly servers: number
}

/** The required number of copies of each day, by tier. */
export type Target = ReadonlyMap<string, readonly number[]>

/** The copies that rules require of each day, limited by the servers of each tier; `now` is epoch milliseconds. */
export function targetOf(
  rules: readonly unknown[],
  days: readonly Interval[],
  tiers: readonly TierSize[],
  now: number,
): Target {
  const compiled = compileRules(effectiveRules(parseRules(rules), []), now)
  const wanted = days.map((day) => compiled[matchRule(compiled, day)]!.wanted)
  return new Map(
    tiers.map(({ tier, servers }) => [
      tier,
      wanted.map((day) =>
        day.action === 'load' ? Math.min(day.tieredReplicants.get(tier) ?? 0, servers) : 0,
      ),
    ]),
  )
}

/** The differences between the cluster and its target, one phrase each; empty if there are none. */
export function missingFor(target: Target, view: ClusterView): string[] {
  const missing = [...target].flatMap(([tier, wantedByDay]) => {
    const servedByDay = view.tiers.find((entry) => entry.tier === tier)?.copiesByDay ?? []
    let lacking = 0
    let surplus = 0
    wantedByDay.forEach((wanted, day) => {
      const served = servedByDay[day] ?? 0
      lacking += Math.max(0, wanted - served)
      surplus += Math.max(0, served - wanted)
    })
    return [
      ...(lacking > 0 ? [`tier [${tier}] is missing ${countOf(lacking, 'replica')}`] : []),
      ...(surplus > 0 ? [`tier [${tier}] has ${countOf(surplus, 'surplus replica')}`] : []),
    ]
  })
  const { queuedLoads, queuedDrops } = view
  if (queuedLoads + queuedDrops === 0 || missing.length > 0) return missing
  return [`${countOf(queuedLoads, 'load')} and ${countOf(queuedDrops, 'drop')} are still queued`]
}
