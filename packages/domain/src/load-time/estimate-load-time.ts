import { Heap } from '../heap/index.ts'
import { type LoadRate, meanRate, timeOf } from './load-rate.ts'

/** Replicas to load in a tier, and its servers. */
export interface TierLoads {
  readonly servers: readonly TierServer[]
  /** Segments of which replicas are loaded. A server loads at most one of each. */
  readonly segments: number
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
  /** Infinity means no limit. */
  readonly maxSizeBytes: number
  /** Size of the segments that it serves. */
  readonly usedSizeBytes: number
  /** Loads that are in its queue now. */
  readonly queuedLoads: number
  readonly queuedBytes: number
}

/** Limits of the coordinator. */
export interface LoadTimeLimits {
  /** Time between two runs. */
  readonly periodMs: number
  /** Time until the next run, which is the first to load something. */
  readonly untilNextRunMs: number
  readonly maxLoadsPerServer: number
  readonly replicationThrottleLimit: number
}

/** How many replicas are loaded after some time. */
export interface LoadPoint {
  readonly durationMs: number
  readonly loads: number
}

/** How long a tier takes. */
export interface LoadTimeEstimate {
  readonly durationMs: number
  /** How many replicas are loaded over time, from the next run to the end. At most about 25 points. */
  readonly curve: readonly LoadPoint[]
  /** What takes longest: the servers, their queues between two runs, or the throttle of additional replicas. */
  readonly limitedBy: 'servers' | 'maxSegmentsInNodeLoadingQueue' | 'replicationThrottleLimit'
}

interface Queue {
  readonly msPerLoad: number
  /** Its share of all loads, from 0 to 1. */
  readonly share: number
  /** Milliseconds until the queue is empty. */
  queuedMs: number
}

// After this many runs, the rest is extrapolated.
const maxRuns = 10_000
// How many points of the curve are after the last run, and in total.
const finalPoints = 8
const maxPoints = 24

/**
 * Estimates when the last replica is loaded, from one run of the coordinator to the next. Returns undefined if no server of
 * the tier has been measured.
 */
export function estimateLoadTime(
  loads: TierLoads,
  { periodMs, untilNextRunMs, maxLoadsPerServer, replicationThrottleLimit }: LoadTimeLimits,
): LoadTimeEstimate | undefined {
  const { servers, firstCopies, furtherCopies, bytes } = loads
  const copies = firstCopies + furtherCopies
  if (copies === 0) return { durationMs: 0, curve: [], limitedBy: 'servers' }
  const mean = meanRate(servers.flatMap(({ rate }) => rate ?? []))
  if (mean === undefined) return undefined
  const sizeBytes = bytes / copies
  const shares = sharesOf(loads)
  const queues = servers.map(({ rate = mean, queuedLoads, queuedBytes }, index): Queue => {
    const msPerLoad = Math.max(timeOf(rate, 1, sizeBytes), 0.001)
    return { msPerLoad, share: shares[index]!, queuedMs: timeOf(rate, queuedLoads, queuedBytes) }
  })
  let [first, further] = [firstCopies, furtherCopies]
  let now = untilNextRunMs
  for (const queue of queues) queue.queuedMs = Math.max(0, queue.queuedMs - now)
  const waits = { queue: 0, throttle: 0 }
  const points: LoadPoint[] = []
  const note = (passedMs: number): void => {
    const loads = Math.max(0, copies - first - further - loadsIn(queues, passedMs))
    points.push({ durationMs: now + passedMs, loads })
  }
  const finish = (durationMs: number, run: number): LoadTimeEstimate => {
    const last = { durationMs, loads: copies }
    return { durationMs, curve: [...thinned(points), last], limitedBy: limitOf(run, waits) }
  }
  for (let run = 1; ; run += 1) {
    note(0)
    const allowed = first + Math.min(further, replicationThrottleLimit)
    const assigned = assign(queues, allowed, maxLoadsPerServer)
    // A run assigns all replicas of a segment before those of the next, so additional replicas use their share of the
    // space.
    const part = Math.round((assigned * further) / Math.max(first + further, 1))
    const ofFurther = Math.max(assigned - first, Math.min(part, further, replicationThrottleLimit))
    first -= assigned - ofFurther
    further -= ofFurther
    const longestMs = queues.reduce((max, { queuedMs }) => Math.max(max, queuedMs), 0)
    const left = first + further
    if (left === 0) {
      for (let part = 1; part < finalPoints; part += 1) note((longestMs * part) / finalPoints)
      return finish(now + longestMs, run)
    }
    if (longestMs < periodMs) waits[assigned < allowed ? 'queue' : 'throttle'] += 1
    if (run === maxRuns) return finish((now / (copies - left)) * copies, run)
    now += periodMs
    for (const queue of queues) queue.queuedMs = Math.max(0, queue.queuedMs - periodMs)
  }
}

/** Returns how many loads are in the queues after some time. */
const loadsIn = (queues: readonly Queue[], passedMs: number): number =>
  queues.reduce((sum, { queuedMs, msPerLoad }) => sum + Math.max(0, queuedMs - passedMs) / msPerLoad, 0)

/** Returns some of the points, including the first. */
function thinned(points: readonly LoadPoint[]): LoadPoint[] {
  const step = Math.ceil(points.length / maxPoints)
  return points.filter((_, index) => index % step === 0)
}

const limitOf = (
  runs: number,
  { queue, throttle }: { readonly queue: number; readonly throttle: number },
): LoadTimeEstimate['limitedBy'] => {
  if (queue + throttle < runs / 2 || queue + throttle === 0) return 'servers'
  return queue > throttle ? 'maxSegmentsInNodeLoadingQueue' : 'replicationThrottleLimit'
}

// The loads are divided among the servers in this many pieces for each server.
const piecesPerServer = 100

/**
 * Returns the share of the loads that each server gets. Like the planner, gives each piece to the server that is the
 * least full. A server gets at most one replica of each segment.
 */
function sharesOf({ servers, segments, firstCopies, furtherCopies, bytes }: TierLoads): number[] {
  const count = piecesPerServer * servers.length
  const maxPieces = Math.ceil(count * Math.max(segments / (firstCopies + furtherCopies), 1 / servers.length))
  const parts = servers.map(({ maxSizeBytes, usedSizeBytes, queuedBytes }) => ({
    maxSizeBytes,
    filledBytes: usedSizeBytes + queuedBytes,
    pieces: 0,
  }))
  const fillOf = (part: (typeof parts)[number]) => part.filledBytes / part.maxSizeBytes
  const open = new Heap<(typeof parts)[number]>(
    (a, b) => fillOf(a) < fillOf(b) || (fillOf(a) === fillOf(b) && a.pieces < b.pieces),
  )
  for (const part of parts) open.push(part)
  for (let piece = 0; piece < count; piece += 1) {
    const part = open.pop()
    if (part === undefined) break
    part.pieces += 1
    part.filledBytes += bytes / count
    if (part.pieces < maxPieces) open.push(part)
  }
  return parts.map(({ pieces }) => pieces / count)
}

/** Adds loads to the queues according to their shares, as far as they have room. Returns how many were added. */
function assign(queues: readonly Queue[], loads: number, maxLoads: number): number {
  const open = queues
    .map((queue) => ({ queue, room: Math.max(0, maxLoads - Math.ceil(queue.queuedMs / queue.msPerLoad)) }))
    .sort((a, b) => a.room / a.queue.share - b.room / b.queue.share || 0)
  let left = loads
  let shares = open.reduce((sum, { queue }) => sum + queue.share, 0)
  for (const { queue, room } of open) {
    const part = shares > 0 ? Math.min(room, left, Math.ceil((left * queue.share) / shares - 1e-9)) : 0
    queue.queuedMs += part * queue.msPerLoad
    left -= part
    shares -= queue.share
  }
  return loads - left
}
