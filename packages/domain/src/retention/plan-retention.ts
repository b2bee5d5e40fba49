import { createPlanner, type LoadingServer, type Plan, type PlanLimits } from '../loading/index.ts'
import { type CompiledRule, compileRules, effectiveRules, matchRule, type Rule } from '../rules/index.ts'
import type { Segment } from '../segment/index.ts'
import { overshadowedBy } from '../timeline/index.ts'

/** The used segments of one datasource, and which of them newer versions hide. */
export interface DatasourceSegments {
  readonly dataSource: string
  readonly segments: readonly Segment[]
  readonly overshadowed: ReadonlySet<string>
}

/** Everything that one run decides from. */
export interface RetentionSnapshot {
  /** The cluster's time in epoch milliseconds. */
  readonly now: number
  readonly datasources: Iterable<DatasourceSegments>
  /** Rules by datasource, the cluster's defaults under `_default`. */
  readonly rules: ReadonlyMap<string, readonly Rule[]>
  readonly servers: readonly LoadingServer[]
  readonly limits: PlanLimits
  isUsed(segmentId: string): boolean
}

/** A segment to be marked unused, and why. */
export interface UnusedSegment {
  readonly id: string
  readonly reason: 'dropRule' | 'overshadowed'
}

/** What one run sets going. */
export interface RetentionPlan extends Plan {
  readonly markUnused: readonly UnusedSegment[]
  /** Copies that rules want in tiers which have no server, by tier. */
  readonly tiersWithoutServers: ReadonlyMap<string, number>
}

/** The name under which the cluster's default rules stand. */
const clusterDefaults = '_default'

/** The rules of a datasource, then the cluster's, ready to be matched at `now`. */
export function rulesOf(
  rules: ReadonlyMap<string, readonly Rule[]>,
  dataSource: string,
  now: number,
): CompiledRule[] {
  return compileRules(effectiveRules(rules.get(dataSource) ?? [], rules.get(clusterDefaults) ?? []), now)
}

/**
 * Decides one run: every used segment falls under the first rule that applies to it and gets its copies; what a
 * drop rule catches becomes unused; an overshadowed segment becomes unused, and not before, once what hides it is
 * served; what is served but not used is dropped.
 */
export function planRetention(snapshot: RetentionSnapshot): RetentionPlan {
  const { now, datasources, rules, servers, limits, isUsed } = snapshot
  const planner = createPlanner(servers, limits)
  const historicalTiers = new Set(servers.filter(({ type }) => type === 'historical').map(({ tier }) => tier))
  const isServed = (id: string): boolean => servers.some(({ served }) => served.has(id))
  const markUnused: UnusedSegment[] = []
  const tiersWithoutServers = new Map<string, number>()
  for (const { dataSource, segments, overshadowed } of datasources) {
    const compiled = rulesOf(rules, dataSource, now)
    // Hiding segments that no tier is to hold hide as well as served ones.
    const hiding: Segment[] = []
    for (const segment of segments) {
      if (overshadowed.has(segment.id)) continue
      // The last rule of every list applies always.
      const { wanted } = compiled[matchRule(compiled, segment.interval)] as CompiledRule
      planner.planSegment(segment, wanted)
      if (wanted.action === 'drop') markUnused.push({ id: segment.id, reason: 'dropRule' })
      let wantsNoCopy = wanted.action === 'load'
      if (wanted.action === 'load') {
        for (const [tier, copies] of wanted.tieredReplicants) {
          if (historicalTiers.has(tier)) wantsNoCopy = false
          else tiersWithoutServers.set(tier, (tiersWithoutServers.get(tier) ?? 0) + copies)
        }
      }
      if (overshadowed.size > 0 && (wantsNoCopy || isServed(segment.id))) hiding.push(segment)
    }
    if (overshadowed.size > 0) {
      const hidden = segments.filter(({ id }) => overshadowed.has(id))
      // A version between that nobody serves hides nothing: what it would hide may be all that answers queries.
      const isHidden = overshadowedBy(hidden, [...hidden.filter(({ id }) => isServed(id)), ...hiding])
      hidden.forEach(({ id }, index) => {
        if (isHidden[index]) markUnused.push({ id, reason: 'overshadowed' })
      })
    }
  }
  const plan = planner.result()
  const unusedDrops = servers.flatMap(({ name, served, dropping }) =>
    [...served]
      .filter((id) => !isUsed(id) && !dropping.has(id))
      .map((segmentId) => ({ server: name, segmentId })),
  )
  return { ...plan, drops: [...plan.drops, ...unusedDrops], markUnused, tiersWithoutServers }
}
