import type { WantedCopies } from '../rules/index.ts'

/** A server as a preview sees it. */
export interface PreviewServer {
  readonly name: string
  readonly type: 'historical' | 'broker'
  readonly tier: string
  /** Infinity for a server without limit; a server with 0 can hold nothing. */
  readonly maxSizeBytes: number
  /** A server that is to be emptied gets no copies. */
  readonly decommissioning: boolean
}

/** The historicals of one tier, or all brokers. */
export interface PreviewTier {
  readonly name: string
  /** Those that stay. */
  readonly servers: readonly PreviewServer[]
  /** Those of them that can hold segments at all. */
  readonly able: readonly PreviewServer[]
}

/** The servers of a preview by what they are for. */
export interface PreviewCluster {
  /** In the order of their names. */
  readonly tiers: readonly PreviewTier[]
  /** The tiers, and the brokers after them. */
  readonly holders: readonly PreviewTier[]
  /** Servers that stay and have no room for segments at all. */
  readonly unable: readonly PreviewServer[]
}

const canHoldSegments = ({ maxSizeBytes }: PreviewServer): boolean => maxSizeBytes > 0

/** The tiers and brokers of a list of servers; `tiersBefore` are named too where they have no server any more. */
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

/** What a rule leads to in a cluster. Holders that get nothing are left out: a cluster may have thousands of them. */
export interface RuleTarget {
  readonly action: 'load' | 'drop' | 'broadcast'
  /** In the order of the holders. */
  readonly holders: readonly HolderTarget[]
  readonly byHolder: ReadonlyMap<number, HolderTarget>
}

/** The copies of a segment in a tier, or on brokers. */
export interface HolderTarget {
  /** The place among the holders of the cluster. */
  readonly holder: number
  /** Copies that servers could hold if there were room for all. */
  readonly copies: number
  /** Copies that are due where every server can hold segments: what is beyond `copies` is never loaded. */
  readonly due: number
}

/** What rules lead to in a cluster, worked out once for rules that want the same. */
export class RuleTargets {
  private readonly cluster: PreviewCluster
  private readonly tierPlaces: ReadonlyMap<string, number>
  private readonly byWanted = new Map<WantedCopies, RuleTarget>()

  constructor(cluster: PreviewCluster) {
    this.cluster = cluster
    this.tierPlaces = new Map(cluster.tiers.map(({ name }, place) => [name, place]))
  }

  /** What the rule leads to: at most one copy per server, and none in a tier without servers. */
  of(wanted: WantedCopies): RuleTarget {
    let target = this.byWanted.get(wanted)
    if (target === undefined) {
      const holders = this.dueOf(wanted).flatMap(([holder, wantedCopies]) => {
        const { servers, able } = this.cluster.holders[holder]!
        const due = Math.min(wantedCopies, servers.length)
        return due === 0 ? [] : [{ holder, due, copies: Math.min(due, able.length) }]
      })
      const byHolder = new Map(holders.map((one) => [one.holder, one]))
      target = { action: wanted.action, holders, byHolder }
      this.byWanted.set(wanted, target)
    }
    return target
  }

  /** The wanted copies by holder. */
  private dueOf(wanted: WantedCopies): (readonly [holder: number, copies: number])[] {
    if (wanted.action === 'drop') return []
    if (wanted.action === 'broadcast') return this.cluster.holders.map((_, holder) => [holder, Infinity])
    // Load rules put nothing on brokers.
    return [...wanted.tieredReplicants]
      .flatMap(([tier, copies]) => {
        const place = this.tierPlaces.get(tier)
        return place === undefined ? [] : [[place, copies] as const]
      })
      .sort(([a], [b]) => a - b)
  }
}
