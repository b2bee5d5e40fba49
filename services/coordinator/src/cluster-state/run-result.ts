import type { LoadingServer, Unplaced } from '@svc/domain/loading'
import type { LackingCopies, RetentionRun, TierLack } from '@svc/domain/retention'
import type { RulesByName } from '@svc/domain/rules'
import { countOf } from '@svc/domain/text'
import type { CoordinatorConfig } from '@svc/shared/coordinator-dynamic-config'
import type { ReadableDatasources } from './readable-datasources.ts'

/** What a run of the rules starts from, in addition to segments and servers. */
export interface RunInputs {
  readonly rules: RulesByName
  readonly config: CoordinatorConfig
}

/** Overshadowed segments, and the time from which runs mark them as unused, in epoch milliseconds. */
export interface WaitingOvershadowed {
  readonly count: number
  readonly untilMs: number
}

/** How many loads, drops, and moves a run requested, and how many segments it marked as unused. */
export interface RunChanges {
  readonly loads: number
  readonly drops: number
  readonly moves: number
  readonly markedUnused: number
}

/** What a complete run of the rules did. */
export interface RunResult {
  readonly done: RunChanges
  /** Overshadowed segments that later runs mark as unused; undefined if there are none. */
  readonly waitingOvershadowed: WaitingOvershadowed | undefined
  readonly shortages: readonly Shortage[]
}

/** Replicas of a tier that rules require but its servers cannot load. */
export interface Shortage {
  readonly tier: string
  readonly kind:
    | 'do not load all replicas'
    | 'have no servers'
    | 'have too few servers'
    | 'have only decommissioning servers'
  readonly lacking: readonly LackingCopies[]
  /** Size of the smallest segment of each datasource, given by number, for which the tier has no space. */
  readonly minSizes?: ReadonlyMap<number, number>
  /** Returns the sentence about a number of replicas, which is given in words. */
  describe(replicas: string): string
}

/** Describes the replicas that a run could not assign, and those in tiers without servers, or with too few that load segments. */
export function shortagesOf(run: Pick<RetentionRun, 'unplaced' | 'lacking'>): Shortage[] {
  const unplaced = run.unplaced().map(({ tier, reason, ofDatasources }): Shortage => {
    const entries = [...ofDatasources]
    const copies = new Map(entries.map(([datasource, one]) => [datasource, one.copies]))
    return {
      tier,
      kind: 'do not load all replicas',
      lacking: [{ copies: 1, segments: copies }],
      ...(reason === 'noRoom'
        ? { minSizes: new Map(entries.map(([datasource, one]) => [datasource, one.minSizeBytes])) }
        : {}),
      describe: (replicas) => unplacedText(reason, replicas),
    }
  })
  const inTiers = (lack: TierLack, kind: Shortage['kind'], describe: Shortage['describe']): Shortage[] =>
    [...run.lacking(lack)].map(([tier, lacking]) => ({ tier, kind, lacking, describe }))
  return [
    ...unplaced,
    ...inTiers('tiersWithoutServers', 'have no servers', (replicas) => `has no servers for ${replicas}`),
    ...inTiers(
      'tiersWithTooFewServers',
      'have too few servers',
      (replicas) => `has too few servers for ${replicas}: a server loads at most one replica of a segment`,
    ),
    ...inTiers(
      'tiersWithoutActiveServers',
      'have only decommissioning servers',
      (replicas) =>
        `has only decommissioning servers, which load no segments; rules require ${replicas} there`,
    ),
  ]
}

function unplacedText(reason: Unplaced['reason'], replicas: string): string {
  switch (reason) {
    case 'noRoom':
      return `has no space for ${replicas}`
    case 'loadFailed':
      return `does not load ${replicas} because the servers that have space failed to load them`
    case 'beingDropped':
      return `loads ${replicas} once its servers have dropped their old copies`
    case 'queueFull':
      return `does not load ${replicas} yet because the load queues are full`
    case 'replicationThrottled':
      return `does not load ${replicas} yet because each run assigns at most [replicationThrottleLimit] additional replicas in a tier`
  }
}

/** The servers of a tier that count for its replicas: historicals without clones. */
interface TierCapacity {
  readonly servers: number
  /** Servers that are not decommissioning, and the size of their storage. */
  readonly active: number
  readonly activeBytes: number
}

const noServers: TierCapacity = { servers: 0, active: 0, activeBytes: 0 }

/** Returns the capacity of each tier with servers, which are given without clones. */
export function tierCapacities(servers: readonly LoadingServer[]): ReadonlyMap<string, TierCapacity> {
  const found = new Map<string, TierCapacity>()
  for (const { type, tier, decommissioning, maxSizeBytes } of servers) {
    if (type !== 'historical') continue
    const { servers: count, active, activeBytes } = found.get(tier) ?? noServers
    found.set(tier, {
      servers: count + 1,
      active: active + (decommissioning ? 0 : 1),
      activeBytes: activeBytes + (decommissioning ? 0 : maxSizeBytes),
    })
  }
  return found
}

/** Returns the shortages of a run that the present servers do not contradict, given the capacities of tiers then and now. */
export function remainingShortages(
  shortages: readonly Shortage[],
  then: ReadonlyMap<string, TierCapacity>,
  now: ReadonlyMap<string, TierCapacity>,
): readonly Shortage[] {
  return shortages.filter(({ tier, kind }) => {
    const [before, { servers, active, activeBytes }] = [then.get(tier), now.get(tier) ?? noServers]
    if (kind === 'have no servers') return servers === 0
    if (kind === 'have only decommissioning servers') return servers > 0 && active === 0
    // Servers that joined since may have what was missing.
    const hasGrown = before !== undefined && (active > before.active || activeBytes > before.activeBytes)
    return active > 0 && !hasGrown
  })
}

// Maximum number of tiers to list. Rules may name thousands.
const maxTiers = 20

/** What a caller may see of shortages: only replicas of datasources that it may read. */
export interface ShortageView {
  /** Returns the number of replicas. */
  copiesOf(shortage: Shortage): number
  /** Returns the size of the smallest segment for which the tier has no space; undefined if it lacks something else. */
  minSizeOf(shortage: Shortage): number | undefined
}

/** Returns what a caller who may read these datasources sees of shortages. */
export function shortageView({ has }: Pick<ReadableDatasources, 'has'>): ShortageView {
  // Thousands of tiers of a rule share the same counts.
  const known = new Map<LackingCopies['segments'], number>()
  const countOfSegments = (segments: LackingCopies['segments']): number => {
    let count = known.get(segments)
    if (count === undefined) {
      count = 0
      for (const [datasource, number] of segments) if (has(datasource)) count += number
      known.set(segments, count)
    }
    return count
  }
  return {
    copiesOf: ({ lacking }) =>
      lacking.reduce((sum, { copies, segments }) => sum + copies * countOfSegments(segments), 0),
    minSizeOf: ({ minSizes = [] }) => {
      let min: number | undefined
      for (const [datasource, size] of minSizes) if (has(datasource)) min = Math.min(min ?? size, size)
      return min
    },
  }
}

/** Returns the sentence about a shortage that a caller may see; undefined if it sees none of the replicas. */
export function shortageSentence(shortage: Shortage, view: ShortageView): string | undefined {
  const copies = view.copiesOf(shortage)
  if (copies === 0) return undefined
  return `Tier [${shortage.tier}] ${shortage.describe(countOf(copies, 'replica'))}`
}

/** Returns the sentences of the first tiers of each kind that a caller sees, and the number of the others that it sees. */
export const shortageSentences = (shortages: readonly Shortage[], view: ShortageView): string[] =>
  [...Map.groupBy(shortages, ({ kind }) => kind)].flatMap(([kind, members]) => {
    const seen = members.filter((shortage) => view.copiesOf(shortage) > 0)
    const first = seen.slice(0, maxTiers).flatMap((shortage) => shortageSentence(shortage, view) ?? [])
    const more = seen.length - first.length
    return more === 0 ? first : [...first, `Other tiers that ${kind}: ${more}`]
  })
