import { copyFlag, type SegmentTable } from '../inventory/index.ts'
import type { LoadingServer } from '../loading/index.ts'
import { type RuleBoundaries, type RulesByName, ruleBoundariesOf } from '../rules/index.ts'

/**
 * Returns a function that returns whether rules still require a load: whether the segment, given by ID, misses a replica
 * in the tier of the server, given by number. A load on a clone is required as long as the segment is used.
 */
export function missingReplicas(
  table: SegmentTable,
  rules: RulesByName,
  servers: readonly LoadingServer[],
  now: number,
): (segmentId: string, server: number) => boolean {
  const byNumber = new Map(servers.map((server) => [server.number, server]))
  const boundariesOf = new Map<number, RuleBoundaries>()
  const boundaries = (datasource: number): RuleBoundaries => {
    const known =
      boundariesOf.get(datasource) ?? ruleBoundariesOf(rules, table.datasourceNames[datasource]!, now)
    boundariesOf.set(datasource, known)
    return known
  }
  const isServed = (row: number, server: number): boolean =>
    (table.copies.flags(row, server) & (copyFlag.served | copyFlag.dropping)) === copyFlag.served
  return (segmentId, number) => {
    const row = table.rowOf(segmentId)
    if (row < 0 || !table.isUsed(row) || table.isHidden(row) || isServed(row, number)) return false
    const group = table.groupOf[row]!
    const rule = boundaries(table.datasourceOf[group]!)
    const wanted = rule.wantedBy(rule.match({ start: table.startOf[group]!, end: table.endOf[group]! }))
    if (wanted.action !== 'load') return wanted.action === 'broadcast'
    const tier = byNumber.get(number)?.tier
    if (tier === undefined) return true
    const servedIn = servers.filter(
      (one) =>
        one.type === 'historical' && one.tier === tier && !one.decommissioning && isServed(row, one.number),
    )
    return servedIn.length < (wanted.tieredReplicants.get(tier) ?? 0)
  }
}
