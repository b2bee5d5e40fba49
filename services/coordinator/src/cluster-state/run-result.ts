import type { Unplaced } from '@svc/domain/loading'
import type { RetentionRun } from '@svc/domain/retention'
import type { RulesByName } from '@svc/domain/rules'
import { countOf } from '@svc/domain/text'
import type { CoordinatorConfig } from '@svc/shared/coordinator-config'

/** What a run of the rules starts from, in addition to segments and servers. */
export interface RunInputs {
  readonly rules: RulesByName
  readonly config: CoordinatorConfig
}

/** What a complete run of the rules did. */
export interface RunResult {
  /** Whether it requested a load, drop, or move, or marked a segment as unused. */
  readonly hasChanged: boolean
  /** Number of overshadowed segments that a later run marks as unused. */
  readonly waitingOvershadowed: number
  /** Replicas that rules require but the servers cannot load, in sentences. */
  readonly shortages: readonly string[]
  /** Replicas that it could not assign to a server. */
  readonly unplaced: readonly Unplaced[]
}

// Maximum number of tiers to list. Rules may name thousands.
const maxTiers = 20

/** Describes the replicas that a run could not assign, and those in tiers without servers or with too few. */
export function shortagesOf(
  run: Pick<RetentionRun, 'unplaced' | 'tiersWithoutServers' | 'tiersWithTooFewServers'>,
): string[] {
  const ofServers = run
    .unplaced()
    .map(({ tier, reason, copies }) =>
      reason === 'noRoom'
        ? `Tier [${tier}] has no space for ${countOf(copies, 'replica')}`
        : `Tier [${tier}] does not load ${countOf(copies, 'replica')} because of the limits of load queues and replication`,
    )
  const ofTiers = [...run.tiersWithoutServers()].map(
    ([tier, copies]) => `Tier [${tier}] has no servers for ${countOf(copies, 'replica')}`,
  )
  const ofFewServers = [...run.tiersWithTooFewServers()].map(
    ([tier, copies]) =>
      `Tier [${tier}] has too few servers for ${countOf(copies, 'replica')}: a server loads at most one replica of a segment`,
  )
  return [
    ...firstOf(ofServers, 'do not load all replicas'),
    ...firstOf(ofTiers, 'have no servers'),
    ...firstOf(ofFewServers, 'have too few servers'),
  ]
}

function firstOf(shortages: readonly string[], haveWhat: string): string[] {
  const more = shortages.length - maxTiers
  const first = shortages.slice(0, maxTiers)
  return more > 0 ? [...first, `[${more}] more tiers ${haveWhat}`] : first
}
