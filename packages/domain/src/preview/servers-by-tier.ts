import type { WantedCopies } from '../rules/index.ts'

/** A server in a preview. */
export interface PreviewServer {
  readonly name: string
  readonly type: 'historical' | 'broker'
  readonly tier: string
  /** Infinity means no limit, and 0 means no storage for segments. */
  readonly maxSizeBytes: number
  /** A decommissioning server gets no replicas. */
  readonly decommissioning: boolean
}

/** The historicals of one tier, or all brokers. */
export interface PreviewTier {
  readonly name: string
  /** Servers that are not decommissioning. */
  readonly servers: readonly PreviewServer[]
  /** Those of them that have storage for segments. */
  readonly able: readonly PreviewServer[]
}

/** The servers of a preview, grouped by tier. */
export interface PreviewCluster {
  /** Sorted by name. */
  readonly tiers: readonly PreviewTier[]
  /** The tiers, followed by the brokers. */
  readonly holders: readonly PreviewTier[]
  /** Servers that are not decommissioning and have no storage for segments. */
  readonly unable: readonly PreviewServer[]
}

const canHoldSegments = ({ maxSizeBytes }: PreviewServer): boolean => maxSizeBytes > 0

/** Groups servers into tiers and brokers. Tiers in `tiersBefore` are included even if they no longer have a server. */
export function clusterOf(
  servers: readonly PreviewServer[],
  tiersBefore: Iterable<string> = [],
): PreviewCluster {
  const historicals = servers.filter(({ type }) => type === 'historical')
  const names = new Set([...historicals.map(({ tier }) => tier), ...tiersBefore])
  const byTier = Map.groupBy(historicals, ({ tier }) => tier)
  const isStaying = ({ decommissioning }: PreviewServer): boolean => !decommissioning
  const holderOf = (name: string, members: readonly PreviewServer[]): PreviewTier => {
    const staying = members.filter(isStaying)
    return { name, servers: staying, able: staying.filter(canHoldSegments) }
  }
  const tiers = [...names].sort().map((name) => holderOf(name, byTier.get(name) ?? []))
  const brokers = holderOf(
    'brokers',
    servers.filter(({ type }) => type === 'broker'),
  )
  const unable = servers.filter((server) => isStaying(server) && !canHoldSegments(server))
  return { tiers, holders: [...tiers, brokers], unable }
}

/** What a rule results in. Holders without replicas are omitted, because a cluster may have thousands of them. */
export interface RuleTarget {
  readonly action: 'load' | 'drop' | 'broadcast'
  /** In the same order as the holders of the cluster. */
  readonly holders: readonly HolderTarget[]
  readonly byHolder: ReadonlyMap<number, HolderTarget>
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
  private readonly cluster: PreviewCluster
  private readonly tierPlaces: ReadonlyMap<string, number>
  private readonly byWanted = new Map<WantedCopies, RuleTarget>()

  constructor(cluster: PreviewCluster) {
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
    const required = wanted.action === 'load' ? [...wanted.tieredReplicants] : []
    const waiting = required.filter(([tier]) => this.serversOf(tier) === 0)
    return {
      action: wanted.action,
      holders,
      byHolder: new Map(holders.map((one) => [one.holder, one])),
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
