import type { LoadingServer } from '../loading/index.ts'
import { type CompiledRule, matchRule, type Rule } from '../rules/index.ts'
import { type DatasourceSegments, rulesOf } from './plan-retention.ts'

/** How far the loading of one datasource has come. */
export interface DatasourceLoadStatus {
  readonly dataSource: string
  /** Segments that rules want on some server of the cluster. */
  readonly wantedSegments: number
  /** Those of them that no server serves yet. */
  readonly unavailableSegments: number
  /** Copies still missing by tier, those included that a tier has too few servers for. */
  readonly missingCopies: ReadonlyMap<string, number>
}

/** The load status of each datasource that has used segments which are not overshadowed. */
export function loadStatusOf(
  datasources: Iterable<DatasourceSegments>,
  rules: ReadonlyMap<string, readonly Rule[]>,
  servers: readonly LoadingServer[],
  now: number,
): DatasourceLoadStatus[] {
  const historicals = servers.filter(({ type }) => type === 'historical')
  const byTier = Map.groupBy(historicals, ({ tier }) => tier)
  return [...datasources].map(({ dataSource, segments, overshadowed }) => {
    const compiled = rulesOf(rules, dataSource, now)
    const missingCopies = new Map<string, number>()
    let wantedSegments = 0
    let unavailableSegments = 0
    for (const { id, interval } of segments) {
      if (overshadowed.has(id)) continue
      const { wanted } = compiled[matchRule(compiled, interval)] as CompiledRule
      if (wanted.action === 'drop') continue
      const required =
        wanted.action === 'load'
          ? [...wanted.tieredReplicants]
          : [...byTier].map(([tier, members]) => [tier, members.length] as const)
      let copiesWanted = 0
      for (const [tier, copies] of required) {
        const members = byTier.get(tier) ?? []
        copiesWanted += copies
        const served = members.reduce((count, server) => count + (server.served.has(id) ? 1 : 0), 0)
        const missing = copies - served
        if (missing > 0) missingCopies.set(tier, (missingCopies.get(tier) ?? 0) + missing)
      }
      if (copiesWanted === 0) continue
      wantedSegments += 1
      if (!historicals.some(({ served }) => served.has(id))) unavailableSegments += 1
    }
    return { dataSource, wantedSegments, unavailableSegments, missingCopies }
  })
}
