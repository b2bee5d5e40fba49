import type { TierShortage } from '@svc/domain/explanation'
import type { Unplaced } from '@svc/domain/loading'
import type { RetentionRun } from '@svc/domain/retention'
import type { RulesByName } from '@svc/domain/rules'
import { countOf } from '@svc/domain/text'
import type { CoordinatorConfig } from '@svc/shared/coordinator-dynamic-config'

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
  readonly kind: 'do not load all replicas' | 'have no servers' | 'have too few servers'
}

/** Describes the replicas that a run could not assign, and those in tiers without servers or with too few. */
export function shortagesOf(
  run: Pick<RetentionRun, 'unplaced' | 'tiersWithoutServers' | 'tiersWithTooFewServers'>,
): Shortage[] {
  const unplaced = run
    .unplaced()
    .map(({ tier, reason, copies }) =>
      shortage(tier, 'do not load all replicas', () => unplacedText(reason, countOf(copies, 'replica'))),
    )
  const withoutServers = [...run.tiersWithoutServers()].map(([tier, copies]) =>
    shortage(tier, 'have no servers', () => `has no servers for ${countOf(copies, 'replica')}`),
  )
  const withTooFewServers = [...run.tiersWithTooFewServers()].map(([tier, copies]) =>
    shortage(
      tier,
      'have too few servers',
      () =>
        `has too few servers for ${countOf(copies, 'replica')}: a server loads at most one replica of a segment`,
    ),
  )
  return [...unplaced, ...withoutServers, ...withTooFewServers]
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
const shortage = (tier: string, kind: Shortage['kind'], describe: () => string): Shortage => ({
  tier,
  kind,
  get text() {
    return `Tier [${tier}] ${describe()}`
  },
})

// Maximum number of tiers to list. Rules may name thousands.
const maxTiers = 20

/** Returns the sentences of the first tiers of each kind, and the number of the others. */
export const shortageSentences = (shortages: readonly Shortage[]): string[] =>
  [...Map.groupBy(shortages, ({ kind }) => kind)].flatMap(([kind, members]) => {
    const first = members.slice(0, maxTiers).map(({ text }) => text)
    const more = members.length - first.length
    return more > 0 ? [...first, `Other tiers that ${kind}: ${more}`] : first
  })
