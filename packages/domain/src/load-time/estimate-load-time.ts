import { type LoadRate, meanRate } from './load-rate.ts'

/** Replicas to load in a tier, and its servers. */
export interface TierLoads {
  readonly servers: readonly TierServer[]
  /** First replicas of segments in the tier, which no throttle limits. */
  readonly firstCopies: number
  readonly furtherCopies: number
  /** Bytes of all these replicas. */
  readonly bytes: number
}

/** A server that loads replicas. */
export interface TierServer {
  /** Undefined if this server has not been measured. */
  readonly rate: LoadRate | undefined
  /** Loads that are in its queue now. */
  readonly queuedLoads: number
  readonly queuedBytes: number
}

/** Limits of the coordinator. */
export interface LoadTimeLimits {
  /** Time between two runs. */
  readonly periodMs: number
  readonly maxLoadsPerServer: number
  readonly replicationThrottleLimit: number
}

/** How long a tier takes. */
export interface LoadTimeEstimate {
  readonly durationMs: number
  /** What takes longest: the servers, their queues between two runs, or the throttle of further replicas. */
  readonly limitedBy: 'servers' | 'maxSegmentsInNodeLoadingQueue' | 'replicationThrottleLimit'
}

interface Queue {
  readonly msPerLoad: number
  /** Milliseconds until the queue is empty. */
  queuedMs: number
}

// After this many runs, the rest takes as long in proportion.
const maxRuns = 10_000

/**
 * Estimates when the last replica is loaded, from one run of the coordinator to the next; the first run is half a period
 * from now. Returns undefined if no server of the tier has been measured.
 */
export function estimateLoadTime(
  { servers, firstCopies, furtherCopies, bytes }: TierLoads,
  { periodMs, maxLoadsPerServer, replicationThrottleLimit }: LoadTimeLimits,
): LoadTimeEstimate | undefined {
  const copies = firstCopies + furtherCopies
  if (copies === 0) return { durationMs: 0, limitedBy: 'servers' }
  const mean = meanRate(servers.flatMap(({ rate }) => rate ?? []))
  if (mean === undefined) return undefined
  const sizeBytes = bytes / copies
  const queues = servers.map(({ rate = mean, queuedLoads, queuedBytes }): Queue => {
    const msOf = (loads: number, size: number) => loads * rate.msPerSegment + size * rate.msPerByte
    return { msPerLoad: Math.max(msOf(1, sizeBytes), 0.001), queuedMs: msOf(queuedLoads, queuedBytes) }
  })
  let [first, further] = [firstCopies, furtherCopies]
  let now = periodMs / 2
  for (const queue of queues) queue.queuedMs = Math.max(0, queue.queuedMs - now)
  const waits = { queue: 0, throttle: 0 }
  for (let run = 1; ; run += 1) {
    const allowed = first + Math.min(further, replicationThrottleLimit)
    const assigned = assign(queues, allowed, maxLoadsPerServer)
    const ofFirst = Math.min(first, assigned)
    first -= ofFirst
    further -= assigned - ofFirst
    const longestMs = queues.reduce((max, { queuedMs }) => Math.max(max, queuedMs), 0)
    const left = first + further
    if (left === 0) return { durationMs: now + longestMs, limitedBy: limitOf(run, waits) }
    if (longestMs < periodMs) waits[assigned < allowed ? 'queue' : 'throttle'] += 1
    if (run === maxRuns)
      return { durationMs: (now / (copies - left)) * copies, limitedBy: limitOf(run, waits) }
    now += periodMs
    for (const queue of queues) queue.queuedMs = Math.max(0, queue.queuedMs - periodMs)
  }
}

const limitOf = (
  runs: number,
  { queue, throttle }: { readonly queue: number; readonly throttle: number },
): LoadTimeEstimate['limitedBy'] => {
  if (queue + throttle < runs / 2 || queue + throttle === 0) return 'servers'
  return queue > throttle ? 'maxSegmentsInNodeLoadingQueue' : 'replicationThrottleLimit'
}

/** Adds loads to the queues in equal parts, as far as they have room. Returns how many. */
function assign(queues: readonly Queue[], loads: number, maxLoads: number): number {
  const open = queues
    .map((queue) => ({ queue, room: Math.max(0, maxLoads - Math.ceil(queue.queuedMs / queue.msPerLoad)) }))
    .sort((a, b) => a.room - b.room)
  let left = loads
  for (const [index, { queue, room }] of open.entries()) {
    const part = Math.min(room, Math.ceil(left / (open.length - index)))
    queue.queuedMs += part * queue.msPerLoad
    left -= part
  }
  return loads - left
}
