import { compileRules, effectiveRules, matchRule, parseRules } from '@svc/domain/rules'
import type { Interval } from '@svc/domain/time'
import type { ClusterView } from './cluster-view.ts'

/** How many servers a tier has. */
export interface TierSize {
  readonly tier: string
  readonly servers: number
}

/** Copies that a tier is to have of each day, by tier. */
export type Target = ReadonlyMap<string, readonly number[]>

/** What rules want of each day, as far as the tiers have servers for it; `now` is epoch milliseconds. */
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

/** What keeps the cluster from being as it is to be, each in one phrase; nothing when it is. */
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
      ...(lacking > 0 ? [`tier [${tier}] lacks [${lacking}] copies`] : []),
      ...(surplus > 0 ? [`tier [${tier}] still has [${surplus}] copies too many`] : []),
    ]
  })
  const queued = view.queuedLoads + view.queuedDrops
  return queued > 0 && missing.length === 0 ? [`[${queued}] requests to servers are not answered`] : missing
}
