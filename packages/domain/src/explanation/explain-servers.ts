import { copyFlag } from '../inventory/index.ts'
import { hasRoomFor, holdsSegment, type LoadingServer } from '../loading/index.ts'
import { countOf, formatBytes } from '../text/index.ts'
import { formatInstant } from '../time/index.ts'
import type {
  Candidates,
  ExplainedCluster,
  LoadFailure,
  NamedClone,
  ServerFinding,
  ServerObstacle,
  TierFinding,
} from './segment-explanation.ts'

const { served, loading, dropping, refused } = copyFlag

/** What a server has to do with a segment, without the sentences about it, which take longer than everything else. */
export type ServerVerdict = Omit<ServerFinding, 'text'>

/** Returns what a server has to do with a segment, given by row. */
export function judgeServer(cluster: ExplainedCluster, row: number, server: LoadingServer): ServerVerdict {
  const { state, obstacle, failure } = judge(cluster, row, server)
  return {
    server: server.name,
    tier: server.tier,
    state,
    ...(failure === undefined ? {} : { failure }),
    ...(obstacle === undefined ? {} : { obstacle }),
  }
}

/** Whether a server has nothing to do with a segment, given by row, except that it may be able to load it. */
export const isUninvolved = ({ table, failureOf }: ExplainedCluster, row: number, server: number): boolean =>
  table.copies.flags(row, server) === 0 && failureOf(server, row) === undefined

function judge(cluster: ExplainedCluster, row: number, server: LoadingServer) {
  const flags = cluster.table.copies.flags(row, server.number)
  const failure = (flags & served) === 0 ? cluster.failureOf(server.number, row) : undefined
  const held = heldState(flags)
  const obstacle = held === undefined ? obstacleOf(cluster, row, server, flags) : undefined
  const state = held ?? (obstacle === undefined ? ('canLoad' as const) : ('cannotLoad' as const))
  return { state, obstacle, failure }
}

function heldState(flags: number): 'drops' | 'loads' | 'serves' | undefined {
  if ((flags & dropping) !== 0) return 'drops'
  if ((flags & loading) !== 0) return 'loads'
  return (flags & served) !== 0 ? 'serves' : undefined
}

/**
 * Returns what a server has to do with a segment, given by row, in sentences. `mayRetry` returns whether a run may assign the segment
 * to a server that failed to load it.
 */
export function explainServer(
  cluster: ExplainedCluster,
  row: number,
  server: LoadingServer,
  mayRetry: (verdict: ServerVerdict) => boolean,
): ServerFinding {
  const verdict = judgeServer(cluster, row, server)
  const { obstacle, failure } = verdict
  const failed = failure === undefined ? undefined : failureText(failure, mayRetry(verdict))
  if (obstacle === 'loadFailed')
    return {
      ...verdict,
      text:
        failed ??
        `Failed to load the segment or did not respond${mayRetry(verdict) ? '; a later run may retry it' : ''}`,
    }
  const text = verdictText(cluster, row, server, verdict)
  return { ...verdict, text: failed === undefined ? text : `${text}. ${failed}` }
}

/** Whether nothing about a server prevents a later run from assigning a segment to it. Loads and pauses between attempts end. */
export const canRetry = ({ state, obstacle }: ServerVerdict): boolean =>
  state === 'canLoad' || obstacle === 'loadFailed' || obstacle === 'queueFull'

function verdictText(
  cluster: ExplainedCluster,
  row: number,
  server: LoadingServer,
  { state, obstacle }: ServerVerdict,
): string {
  const isLeaving = server.decommissioning ? ', and is decommissioning' : ''
  if (state === 'drops') return `Is dropping the segment${isLeaving}`
  if (state === 'loads')
    return `Has the segment in its load queue (${countOf(server.queuedLoads, 'segment')} queued)${isLeaving}`
  if (state === 'serves') return `Serves the segment${isLeaving}`
  return obstacle === undefined
    ? `Can load the segment: ${freeText(server)}`
    : obstacleText(cluster, row, server, obstacle as Exclude<ServerBlocker, 'loadFailed'>)
}

function failureText({ failures, error, at, retryAt, isResting }: LoadFailure, mayRetry: boolean): string {
  const often = failures === 1 ? 'at' : `${failures} times, last at`
  const next = isResting
    ? `the next attempt is at ${formatInstant(retryAt)} or later`
    : 'the next run may retry it'
  return `Failed to load the segment ${often} ${formatInstant(at)} (${error})${mayRetry ? `; ${next}` : ''}`
}

/** Returns what a clone has to do with a segment, given by row. It copies its source, whatever the rules require. */
export function explainClone(
  { table }: ExplainedCluster,
  row: number,
  { target, source, sourceName }: NamedClone,
): ServerFinding {
  const { name, tier, number } = target
  const finding = (state: ServerFinding['state'], text: string) => ({ server: name, tier, state, text })
  const flags = table.copies.flags(row, number)
  const as = `as a clone of [${sourceName}]`
  if ((flags & dropping) !== 0)
    return finding('drops', `Is a clone of [${sourceName}] and is dropping the segment`)
  if ((flags & loading) !== 0)
    return finding('loads', `Is a clone of [${sourceName}] and has the segment in its load queue`)
  if ((flags & served) !== 0)
    return finding('serves', `Serves the segment ${as}; this copy does not count as a replica`)
  const isAtSource = source !== undefined && holdsSegment(table.copies.flags(row, source))
  const why =
    source === undefined
      ? 'which is unavailable, so the clone neither loads nor drops segments'
      : isAtSource
        ? 'which has the segment: the clone loads it when its queue and storage have space'
        : 'which does not have the segment: a clone loads only the segments of its source'
  return { ...finding('cannotLoad', `Clone of [${sourceName}], ${why}`), obstacle: 'clone' }
}

/** Why a server that is not a clone cannot load a segment. */
type ServerBlocker = Exclude<ServerObstacle, 'clone'>

function obstacleOf(
  { table, limits }: ExplainedCluster,
  row: number,
  server: LoadingServer,
  flags: number,
): ServerBlocker | undefined {
  if (server.decommissioning) return 'decommissioning'
  if (!hasRoomFor(server, table.sizeOf[row]!)) return 'noSpace'
  if ((flags & refused) !== 0) return 'loadFailed'
  return server.queuedLoads >= limits.maxLoadsPerServer ? 'queueFull' : undefined
}

function obstacleText(
  { table, limits, seesCluster }: ExplainedCluster,
  row: number,
  server: LoadingServer,
  obstacle: Exclude<ServerBlocker, 'loadFailed'>,
): string {
  switch (obstacle) {
    case 'decommissioning':
      return 'Decommissioning, so it loads nothing'
    case 'noSpace':
      return `Not enough space: ${freeText(server)}, and the segment needs ${formatBytes(table.sizeOf[row]!)}`
    case 'queueFull':
      return seesCluster
        ? `Load queue is full: ${server.queuedLoads} of ${limits.maxLoadsPerServer}`
        : 'Load queue is full'
  }
}

function freeText({ maxSizeBytes, usedSizeBytes, loadingSizeBytes }: LoadingServer): string {
  const freeBytes = Math.max(0, maxSizeBytes - usedSizeBytes - loadingSizeBytes)
  return `${formatBytes(freeBytes)} of ${formatBytes(maxSizeBytes)} free`
}

/** Counts the replicas of a segment in a tier, and the servers that could load one. */
export function explainTier(
  cluster: ExplainedCluster,
  row: number,
  tier: string,
  members: readonly LoadingServer[],
  required: number,
): TierFinding {
  const counts = { served: 0, loading: 0, dropping: 0, leaving: 0 }
  const candidates: { -readonly [Key in keyof Candidates]: Candidates[Key] } = {}
  let failedServers = 0
  let activeServers = 0
  for (const server of members) {
    const { state, obstacle, failure } = judge(cluster, row, server)
    if (!server.decommissioning) activeServers += 1
    if (obstacle === 'loadFailed' || failure !== undefined) failedServers += 1
    if (state === 'serves') counts[server.decommissioning ? 'leaving' : 'served'] += 1
    else if (state === 'loads' && isCopy(cluster, row, server)) counts.loading += 1
    else if (state === 'drops') counts.dropping += 1
    const candidate = state === 'drops' ? 'beingDropped' : state === 'canLoad' ? state : obstacle
    if (candidate !== undefined) candidates[candidate] = (candidates[candidate] ?? 0) + 1
  }
  return {
    tier,
    required,
    ...counts,
    servers: members.length,
    activeServers,
    failedServers,
    candidates,
  }
}

/** Whether a queued load adds a replica: a move does not, because another server drops its replica for it. */
const isCopy = ({ table }: ExplainedCluster, row: number, server: LoadingServer): boolean =>
  !server.decommissioning && (table.copies.flags(row, server.number) & copyFlag.moving) === 0
