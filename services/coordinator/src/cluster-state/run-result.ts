import type { TierShortage } from '@svc/domain/explanation'
import type { LoadingServer, Unplaced } from '@svc/domain/loading'
import type { RetentionRun } from '@svc/domain/retention'
import { defaultRule, describeWantedCopies, type Rule, type RulesByName } from '@svc/domain/rules'
import { countOf } from '@svc/domain/text'
import type { CoordinatorConfig } from '@svc/shared/coordinator-dynamic-config'
import { accessTo, type Caller } from '@svc/shared/security'
import { readsRules } from '../inventory/index.ts'

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
export interface Shortage extends TierShortage {
  readonly kind:
    | 'do not load all replicas'
    | 'have no servers'
    | 'have too few servers'
    | 'have only decommissioning servers'
  /** Size of the smallest segment for which the tier has no space; undefined if it lacks something else. */
  readonly minSizeBytes?: number
  /** The sentence without the number of replicas, which includes those of all datasources. */
  readonly textWithoutCount: string
}

/** Describes the replicas that a run could not assign, and those in tiers without servers, or with too few that load segments. */
export function shortagesOf(
  run: Pick<
    RetentionRun,
    'unplaced' | 'tiersWithoutServers' | 'tiersWithTooFewServers' | 'tiersWithoutActiveServers'
  >,
): Shortage[] {
  const unplaced = run
    .unplaced()
    .map(({ tier, reason, copies, minSizeBytes }) =>
      shortage(
        tier,
        'do not load all replicas',
        copies,
        (replicas) => unplacedText(reason, replicas),
        reason === 'noRoom' ? minSizeBytes : undefined,
      ),
    )
  const withoutServers = [...run.tiersWithoutServers()].map(([tier, copies]) =>
    shortage(tier, 'have no servers', copies, (replicas) => `has no servers for ${replicas}`),
  )
  const withTooFewServers = [...run.tiersWithTooFewServers()].map(([tier, copies]) =>
    shortage(
      tier,
      'have too few servers',
      copies,
      (replicas) => `has too few servers for ${replicas}: a server loads at most one replica of a segment`,
    ),
  )
  const withoutActiveServers = [...run.tiersWithoutActiveServers()].map(([tier, copies]) =>
    shortage(
      tier,
      'have only decommissioning servers',
      copies,
      (replicas) =>
        `has only decommissioning servers, which load no segments; rules require ${replicas} there`,
    ),
  )
  return [...unplaced, ...withoutServers, ...withTooFewServers, ...withoutActiveServers]
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

/** Rules may name thousands of tiers without servers, and few sentences are ever shown, so they are created on demand. */
const shortage = (
  tier: string,
  kind: Shortage['kind'],
  copies: number,
  describe: (replicas: string) => string,
  minSizeBytes?: number,
): Shortage => ({
  tier,
  kind,
  ...(minSizeBytes === undefined ? {} : { minSizeBytes }),
  get text() {
    return `Tier [${tier}] ${describe(countOf(copies, 'replica'))}`
  },
  get textWithoutCount() {
    return `Tier [${tier}] ${describe('some replicas')}`
  },
})

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

/** Returns the sentence about a shortage that a caller may see; undefined if it may not see the tier. */
export type ShortageView = (shortage: Shortage) => string | undefined

/** Returns the sentences of the first tiers of each kind, and the number of the others, which includes those without a sentence. */
export const shortageSentences = (
  shortages: readonly Shortage[],
  sentenceOf: ShortageView = ({ text }) => text,
): string[] =>
  [...Map.groupBy(shortages, ({ kind }) => kind)].flatMap(([kind, members]) => {
    const first: string[] = []
    for (const member of members) {
      if (first.length === maxTiers) break
      const sentence = sentenceOf(member)
      if (sentence !== undefined) first.push(sentence)
    }
    const more = members.length - first.length
    if (more === 0) return first
    return [
      ...first,
      first.length === 0 ? `Tiers that ${kind}: ${more}` : `Other tiers that ${kind}: ${more}`,
    ]
  })

/**
 * Returns what a caller may see of shortages. Their numbers of replicas include those of all datasources, so a caller that may not
 * read all of them, given by name, sees no numbers.
 */
export async function shortageView(
  rules: RulesByName,
  dataSources: readonly string[],
  caller: Caller,
): Promise<ShortageView> {
  const isShown = await isTierShown(rules, caller)
  const seesAll = dataSources.every(await accessTo(caller, dataSources, 'SEE'))
  return (shortage) => {
    if (!isShown(shortage)) return undefined
    return seesAll ? shortage.text : shortage.textWithoutCount
  }
}

/**
 * Returns whether to show a caller the tier of a shortage. A tier without servers is only known from the rules that name it, so it is
 * shown only if they include default rules or rules of a datasource that the caller may read.
 */
async function isTierShown(rules: RulesByName, caller: Caller): Promise<(shortage: Shortage) => boolean> {
  const isReadable = readsRules(await accessTo(caller, rules.keys(), 'SEE'))
  if ([...rules.keys()].every(isReadable)) return () => true
  let shown: ReadonlySet<string> | undefined
  return ({ kind, tier }) => {
    if (kind !== 'have no servers') return true
    shown ??= tiersIn([
      ...[...rules.keys()].filter(isReadable).map((name) => rules.get(name)!),
      [defaultRule],
    ])
    return shown.has(tier)
  }
}

function tiersIn(lists: readonly (readonly Rule[])[]): ReadonlySet<string> {
  const found = new Set<string>()
  for (const list of lists)
    for (const rule of list) {
      const wanted = describeWantedCopies(rule)
      if (wanted.action === 'load') for (const tier of wanted.tieredReplicants.keys()) found.add(tier)
    }
  return found
}
