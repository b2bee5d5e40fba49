import { copyFlag, type SegmentTable } from '../inventory/index.ts'
import type { LoadingServer } from '../loading/index.ts'
import { type RulesByName, ruleBoundariesOf, type WantedCopies } from '../rules/index.ts'
import { eternity, type Interval, overlaps } from '../time/index.ts'

/** Load status of one datasource. */
export interface DatasourceLoadStatus {
  readonly dataSource: string
  /** Used segments that are not overshadowed. */
  readonly segments: number
  /** Segments that rules require on at least one server. */
  readonly wantedSegments: number
  /** Those of them that no server serves yet. */
  readonly unavailableSegments: number
  /** Missing replicas by tier, including replicas that a tier has too few servers for. */
  readonly missingCopies: ReadonlyMap<string, number>
  /** Missing replicas by tier that the servers of the tier could load: at most one for each server. */
  readonly loadableCopies: ReadonlyMap<string, number>
  /** The tiers in which rules require replicas. */
  readonly requiredTiers: ReadonlySet<string>
  /** Replicas that historicals serve by tier, including replicas that no rule requires anymore. */
  readonly servedCopies: ReadonlyMap<string, number>
}

/** What a rule requires for each of its segments, and the number of its segments. */
interface Demand {
  readonly wanted: WantedCopies
  readonly copies: number
  /** Only these tiers are looked at for each segment: a rule may name thousands of tiers without servers. */
  readonly withServers: readonly (readonly [tier: string, copies: number])[]
  segments: number
}

function demandBy(wanted: WantedCopies, byTier: ReadonlyMap<string, readonly LoadingServer[]>): Demand {
  const withServers = [...byTier].flatMap(([tier, members]) => {
    const copies =
      wanted.action === 'load'
        ? wanted.tieredReplicants.get(tier)
        : wanted.action === 'broadcast'
          ? members.length
          : undefined
    return copies === undefined ? [] : [[tier, copies] as const]
  })
  let copies = 0
  if (wanted.action === 'load') for (const count of wanted.tieredReplicants.values()) copies += count
  else for (const [, count] of withServers) copies += count
  return { wanted, copies, withServers, segments: 0 }
}

/** The historicals among servers. */
interface Historicals {
  readonly byTier: ReadonlyMap<string, readonly LoadingServer[]>
  readonly tierOfServer: ReadonlyMap<number, string>
}

// Grouping thousands of servers again for each of thousands of datasources would take seconds.
const historicalsByServers = new WeakMap<readonly LoadingServer[], Historicals>()

function historicalsOf(servers: readonly LoadingServer[]): Historicals {
  let found = historicalsByServers.get(servers)
  if (found === undefined) {
    const historicals = servers.filter(({ type }) => type === 'historical')
    found = {
      byTier: Map.groupBy(historicals, ({ tier }) => tier),
      tierOfServer: new Map(historicals.map(({ number, tier }) => [number, tier])),
    }
    historicalsByServers.set(servers, found)
  }
  return found
}

/**
 * Returns the load status of a datasource, given by number, for its rules at `now`. Ignores overshadowed segments, and
 * segments that do not overlap `within`.
 */
export function loadStatusOf(
  table: SegmentTable,
  datasource: number,
  rules: RulesByName,
  servers: readonly LoadingServer[],
  now: number,
  within: Interval = eternity,
): DatasourceLoadStatus {
  const dataSource = table.datasourceNames[datasource]!
  const { byTier, tierOfServer } = historicalsOf(servers)
  const boundaries = ruleBoundariesOf(rules, dataSource, now)
  const demands = new Map<number, Demand>()
  const demandOf = (rule: number): Demand => {
    let demand = demands.get(rule)
    if (demand === undefined) {
      demand = demandBy(boundaries.wantedBy(rule), byTier)
      demands.set(rule, demand)
    }
    return demand
  }
  const missingCopies = new Map<string, number>()
  const loadableCopies = new Map<string, number>()
  const requiredTiers = new Set<string>()
  const servedCopies = new Map<string, number>()
  let [segments, wantedSegments, unavailableSegments] = [0, 0, 0]
  const served = new Map<string, number>()
  for (const group of table.groupsOf(datasource)) {
    if (table.hiddenOf[group] === 1) continue
    const interval = { start: table.startOf[group]!, end: table.endOf[group]! }
    if (!overlaps(interval, within)) continue
    const demand = demandOf(boundaries.match(interval))
    table.forEachRow(group, (row) => {
      segments += 1
      countServed(table, row, tierOfServer, served)
      for (const [tier, count] of served) add(servedCopies, tier, count)
      if (demand.copies === 0) return
      wantedSegments += 1
      demand.segments += 1
      if (served.size === 0) unavailableSegments += 1
      for (const [tier, count] of demand.withServers) {
        const missing = count - (served.get(tier) ?? 0)
        requiredTiers.add(tier)
        if (missing <= 0) continue
        add(missingCopies, tier, missing)
        add(
          loadableCopies,
          tier,
          Math.max(0, Math.min(count, byTier.get(tier)!.length) - (served.get(tier) ?? 0)),
        )
      }
    })
  }
  for (const [tier, copies] of copiesWithoutServers(demands.values(), byTier)) {
    requiredTiers.add(tier)
    add(missingCopies, tier, copies)
  }
  return {
    dataSource,
    segments,
    wantedSegments,
    unavailableSegments,
    missingCopies,
    loadableCopies,
    requiredTiers,
    servedCopies,
  }
}

/** Yields the replicas that tiers without servers require. A tier may occur several times. */
function* copiesWithoutServers(
  demands: Iterable<Demand>,
  byTier: ReadonlyMap<string, unknown>,
): Generator<[tier: string, copies: number]> {
  for (const { wanted, segments } of demands)
    if (wanted.action === 'load' && segments > 0)
      for (const [tier, copies] of wanted.tieredReplicants)
        if (!byTier.has(tier)) yield [tier, copies * segments]
}

/** Counts the replicas of a segment that historicals serve, by tier. Replaces the content of `served`. */
function countServed(
  { copies }: SegmentTable,
  row: number,
  tierOfServer: ReadonlyMap<number, string>,
  served: Map<string, number>,
): void {
  served.clear()
  for (let entry = copies.firstOf[row]!; entry >= 0; entry = copies.nextOf[entry]!) {
    if ((copies.flagsOf[entry]! & copyFlag.served) === 0) continue
    const tier = tierOfServer.get(copies.serverOf[entry]!)
    if (tier !== undefined) add(served, tier, 1)
  }
}

const add = (counts: Map<string, number>, tier: string, count: number): void => {
  counts.set(tier, (counts.get(tier) ?? 0) + count)
}
