import { copyFlag } from '../inventory/index.ts'
import { draftOf, hasRoom, type LoadingServer } from '../loading/index.ts'
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
  const { name, tier, number } = server
  const flags = cluster.table.copies.flags(row, number)
  const failure = (flags & served) === 0 ? cluster.failureOf(number, row) : undefined
  const failed = failure === undefined ? {} : { failure }
  const verdict = (state: ServerFinding['state']) => ({ server: name, tier, state, ...failed })
  if ((flags & dropping) !== 0) return verdict('drops')
  if ((flags & loading) !== 0) return verdict('loads')
  if ((flags & served) !== 0) return verdict('serves')
  const obstacle = obstacleOf(cluster, row, server, flags)
  return obstacle === undefined ? verdict('canLoad') : { ...verdict('cannotLoad'), obstacle }
}

/** Returns what a server has to do with a segment, given by row, in sentences. */
export function explainServer(cluster: ExplainedCluster, row: number, server: LoadingServer): ServerFinding {
  const verdict = judgeServer(cluster, row, server)
  const { obstacle, failure } = verdict
  if (obstacle === 'loadFailed' && failure !== undefined) return { ...verdict, text: failureText(failure) }
  const failed = failure === undefined ? '' : `. ${failureText(failure)}`
  return { ...verdict, text: `${verdictText(cluster, row, server, verdict)}${failed}` }
}

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
    : obstacleText(cluster, row, server, obstacle as ServerBlocker)
}

function failureText({ failures, error, at, retryAt, isResting }: LoadFailure): string {
  const often = failures === 1 ? 'at' : `${failures} times, last at`
  const next = isResting
    ? `the next attempt is at ${formatInstant(retryAt)} or later`
    : 'the next run may retry it'
  return `Failed to load the segment ${often} ${formatInstant(at)} (${error}); ${next}`
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
  const isAtSource = source !== undefined && (table.copies.flags(row, source) & (served | loading)) !== 0
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
  if ((flags & refused) !== 0) return 'loadFailed'
  if (!hasRoom(draftOf(server), table.sizeOf[row]!)) return 'noSpace'
  return server.queuedLoads >= limits.maxLoadsPerServer ? 'queueFull' : undefined
}

function obstacleText(
  { table, limits }: ExplainedCluster,
  row: number,
  server: LoadingServer,
  obstacle: ServerBlocker,
): string {
  switch (obstacle) {
    case 'decommissioning':
      return 'Decommissioning, so it loads nothing'
    case 'loadFailed':
      return 'Failed to load the segment or did not respond; the load will be retried later'
    case 'noSpace':
      return `Not enough space: ${freeText(server)}, and the segment needs ${formatBytes(table.sizeOf[row]!)}`
    case 'queueFull':
      return `Load queue is full: ${server.queuedLoads} of ${limits.maxLoadsPerServer}`
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
  for (const server of members) {
    const { state, obstacle, failure } = judgeServer(cluster, row, server)
    if (obstacle === 'loadFailed' || failure !== undefined) failedServers += 1
    if (state === 'serves') counts[server.decommissioning ? 'leaving' : 'served'] += 1
    else if (state === 'loads' && isCopy(cluster, row, server)) counts.loading += 1
    else if (state === 'drops') counts.dropping += 1
    const candidate = state === 'drops' ? 'beingDropped' : state === 'canLoad' ? state : obstacle
    if (candidate !== undefined) candidates[candidate] = (candidates[candidate] ?? 0) + 1
  }
  const activeServers = members.filter(({ decommissioning }) => !decommissioning).length
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
