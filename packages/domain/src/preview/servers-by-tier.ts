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
  /** Number of decommissioning servers. */
  readonly leaving: number
}

/** The servers of a preview, grouped by tier. */
export interface ServersByTier {
  /** Sorted by name. */
  readonly tiers: readonly PreviewTier[]
  /** The tiers, followed by the brokers. */
  readonly holders: readonly PreviewTier[]
  /** Servers that are not decommissioning and have no storage for segments. */
  readonly unable: readonly PreviewServer[]
}

const canHoldSegments = ({ maxSizeBytes }: PreviewServer): boolean => maxSizeBytes > 0

/** Groups servers into tiers and brokers. Tiers in `tiersBefore` are included even if they no longer have a server. */
export function groupByTier(
  servers: readonly PreviewServer[],
  tiersBefore: Iterable<string> = [],
): ServersByTier {
  const historicals = servers.filter(({ type }) => type === 'historical')
  const names = new Set([...historicals.map(({ tier }) => tier), ...tiersBefore])
  const byTier = Map.groupBy(historicals, ({ tier }) => tier)
  const isStaying = ({ decommissioning }: PreviewServer): boolean => !decommissioning
  const holderOf = (name: string, members: readonly PreviewServer[]): PreviewTier => {
    const staying = members.filter(isStaying)
    const leaving = members.length - staying.length
    return { name, servers: staying, able: staying.filter(canHoldSegments), leaving }
  }
  const tiers = [...names].sort().map((name) => holderOf(name, byTier.get(name) ?? []))
  const brokers = holderOf(
    'brokers',
    servers.filter(({ type }) => type === 'broker'),
  )
  const unable = servers.filter((server) => isStaying(server) && !canHoldSegments(server))
  return { tiers, holders: [...tiers, brokers], unable }
}
