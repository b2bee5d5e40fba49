import type { CompiledRule } from '../rules/index.ts'

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

/** What a rule leads to in a cluster: the copies in each tier, and on brokers, in the order of the holders. */
export interface RuleTarget {
  readonly action: 'load' | 'drop' | 'broadcast'
  /** Copies that servers could hold if there were room for all. */
  readonly copies: readonly number[]
  /** Copies that are due where every server can hold segments: what is beyond `copies` is never loaded. */
  readonly due: readonly number[]
}

/** What the rule leads to: one copy a server at the most, and none in a tier without servers. */
export function targetOf({ wanted }: CompiledRule, { holders }: PreviewCluster): RuleTarget {
  const due = holders.map(({ name, servers }, index) => {
    if (wanted.action === 'drop') return 0
    if (wanted.action === 'broadcast') return servers.length
    // Load rules put nothing on brokers.
    const wantedCopies = index === holders.length - 1 ? 0 : (wanted.tieredReplicants.get(name) ?? 0)
    return Math.min(wantedCopies, servers.length)
  })
  const copies = due.map((count, index) => Math.min(count, holders[index]!.able.length))
  return { action: wanted.action, due, copies }
}
