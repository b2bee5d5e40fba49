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
  const isServed = (flags: number): boolean =>
    (flags & (copyFlag.served | copyFlag.dropping)) === copyFlag.served
  const { copies } = table
  const servedIn = (tier: string, row: number): number => {
    let count = 0
    for (let entry = copies.firstOf[row]!; entry >= 0; entry = copies.nextOf[entry]!) {
      const server = byNumber.get(copies.serverOf[entry]!)
      const isOfTier = server?.type === 'historical' && server.tier === tier && !server.decommissioning
      if (isOfTier && isServed(copies.flagsOf[entry]!)) count += 1
    }
    return count
  }
  return (segmentId, number) => {
    const row = table.rowOf(segmentId)
    if (row < 0 || !table.isUsed(row) || table.isHidden(row)) return false
    if (isServed(copies.flags(row, number))) return false
    const group = table.groupOf[row]!
    const rule = boundaries(table.datasourceOf[group]!)
    const wanted = rule.wantedBy(rule.match({ start: table.startOf[group]!, end: table.endOf[group]! }))
    if (wanted.action !== 'load') return wanted.action === 'broadcast'
    const tier = byNumber.get(number)?.tier
    if (tier === undefined) return true
    return servedIn(tier, row) < (wanted.tieredReplicants.get(tier) ?? 0)
  }
}
