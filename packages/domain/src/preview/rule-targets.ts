import type { WantedCopies } from '../rules/index.ts'
import type { ServersByTier } from './servers-by-tier.ts'

/** What a rule results in. Holders without replicas are omitted, because a cluster may have thousands of them. */
export interface RuleTarget {
  readonly action: 'load' | 'drop' | 'broadcast'
  /** In the same order as the holders of the cluster. */
  readonly holders: readonly HolderTarget[]
  readonly byHolder: ReadonlyMap<number, HolderTarget>
  /** Replicas on historicals, if the servers have enough space. */
  readonly copies: number
  /** Tiers in which more replicas are due than servers have storage. */
  readonly short: readonly HolderTarget[]
  /** Replicas that the rule requires in tiers without servers. */
  readonly waiting: number
  /** The first of these tiers. */
  readonly waitingTiers: readonly string[]
  /** Replicas that the rule requires in tiers with servers, in excess of one per server. */
  readonly beyondServers: number
}

// Maximum number of tiers without servers to list. A rule may name thousands.
const maxWaitingTiers = 20

/** The replicas of a segment in a tier, or on brokers. */
export interface HolderTarget {
  /** Index in the holders of the cluster. */
  readonly holder: number
  /** Replicas that the servers could load if they had enough space. */
  readonly copies: number
  /** Replicas that are due if every server has storage. Those in excess of `copies` are never loaded. */
  readonly due: number
}

/** What rules result in for a cluster, computed once for rules with the same requirements. */
export class RuleTargets {
  private readonly cluster: ServersByTier
  private readonly tierPlaces: ReadonlyMap<string, number>
  private readonly byWanted = new Map<WantedCopies, RuleTarget>()

  constructor(cluster: ServersByTier) {
    this.cluster = cluster
    this.tierPlaces = new Map(cluster.tiers.map(({ name }, place) => [name, place]))
  }

  /** Returns what the rule results in: at most one replica per server, and none in tiers without servers. */
  of(wanted: WantedCopies): RuleTarget {
    let target = this.byWanted.get(wanted)
    if (target === undefined) {
      target = this.targetOf(wanted)
      this.byWanted.set(wanted, target)
    }
    return target
  }

  private targetOf(wanted: WantedCopies): RuleTarget {
    const dues = this.dueOf(wanted)
    const holders = dues.flatMap(([holder, wantedCopies]) => {
      const { servers, able } = this.cluster.holders[holder]!
      const due = Math.min(wantedCopies, servers.length)
      return due === 0 ? [] : [{ holder, due, copies: Math.min(due, able.length) }]
    })
    const onHistoricals = holders.filter(({ holder }) => holder < this.cluster.tiers.length)
    const required = wanted.action === 'load' ? [...wanted.tieredReplicants] : []
    const waiting = required.filter(([tier]) => this.serversOf(tier) === 0)
    return {
      action: wanted.action,
      holders,
      byHolder: new Map(holders.map((one) => [one.holder, one])),
      copies: onHistoricals.reduce((sum, { copies }) => sum + copies, 0),
      short: onHistoricals.filter(({ copies, due }) => copies < due),
      waiting: waiting.reduce((sum, [, copies]) => sum + copies, 0),
      waitingTiers: waiting.slice(0, maxWaitingTiers).map(([tier]) => tier),
      beyondServers: required.reduce((sum, [tier, copies]) => {
        const servers = this.serversOf(tier)
        return servers === 0 ? sum : sum + Math.max(0, copies - servers)
      }, 0),
    }
  }

  private serversOf(tier: string): number {
    const place = this.tierPlaces.get(tier)
    return place === undefined ? 0 : this.cluster.tiers[place]!.servers.length
  }

  /** Returns the required replicas by holder. */
  private dueOf(wanted: WantedCopies): (readonly [holder: number, copies: number])[] {
    if (wanted.action === 'drop') return []
    if (wanted.action === 'broadcast') return this.cluster.holders.map((_, holder) => [holder, Infinity])
    // Load rules do not load segments on brokers.
    return [...wanted.tieredReplicants]
      .flatMap(([tier, copies]) => {
        const place = this.tierPlaces.get(tier)
        return place === undefined ? [] : [[place, copies] as const]
      })
      .sort(([a], [b]) => a - b)
  }
}
