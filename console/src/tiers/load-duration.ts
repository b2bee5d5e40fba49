import { estimateLoadTime, type TierServer } from '@svc/domain/load-time'
import type { ChangedTier, ServerChanges } from '@svc/domain/preview'
import type { DataServer, ServerActivity } from '../cluster/index.ts'

/** How long the loads after assumed changes to the servers take at least. */
export interface LoadDuration {
  /** The longest of the tiers whose servers were measured; undefined if none was. */
  readonly atLeastMs: number | undefined
  /** The tier that takes longest. */
  readonly slowest: string | undefined
  /** Tiers that load replicas, but of which no server was measured. */
  readonly unmeasured: readonly string[]
}

interface DurationInput {
  readonly tiers: readonly ChangedTier[]
  readonly changes: ServerChanges
  readonly servers: readonly DataServer[]
  readonly activity: Readonly<Record<string, ServerActivity>>
}

// The limits of the coordinator for each run are not known here, so the result is a lower bound.
const noLimits = {
  periodMs: 1,
  untilNextRunMs: 0,
  maxLoadsPerServer: Number.MAX_SAFE_INTEGER,
  replicationThrottleLimit: Number.MAX_SAFE_INTEGER,
}

/** Estimates how long the loads take at the rates that were measured. Other servers load as fast as those of their tier. */
export function loadDurationOf({ tiers, changes, servers, activity }: DurationInput): LoadDuration {
  const leaving = new Set([...changes.failed, ...changes.drained])
  const unmeasured: string[] = []
  let [atLeastMs, slowest]: [number | undefined, string | undefined] = [undefined, undefined]
  for (const { name, loaded } of tiers) {
    if (loaded.copies === 0) continue
    const ofTier = servers.filter(({ tier, type }) => tier === name && type === 'historical')
    const staying = ofTier.filter(({ host }) => !leaving.has(host))
    // If only servers that leave were measured, the others are assumed to be as fast as the fastest of them.
    const assumed = staying.some(({ host }) => rateOf(activity[host]) > 0)
      ? undefined
      : ofTier
          .map(({ host }) => activity[host])
          .reduce((fastest, one) => (rateOf(one) > rateOf(fastest) ? one : fastest), undefined)
    const loading: TierServer[] = [
      ...staying.map(({ host, maxSize, currSize }) => serverOf(maxSize, currSize, assumed ?? activity[host])),
      ...changes.added
        .filter(({ tier }) => tier === name)
        .map((one) => serverOf(one.maxSizeBytes, 0, assumed)),
    ]
    // A tier without servers loads nothing.
    if (loading.length === 0) continue
    const { segments, copies, bytes } = loaded
    const loads = { servers: loading, segments, firstCopies: copies, furtherCopies: 0, bytes }
    const estimate = estimateLoadTime(loads, noLimits)
    if (estimate === undefined) unmeasured.push(name)
    else if (atLeastMs === undefined || estimate.durationMs > atLeastMs)
      [atLeastMs, slowest] = [estimate.durationMs, name]
  }
  return { atLeastMs, slowest, unmeasured }
}

const rateOf = (activity: ServerActivity | undefined): number => activity?.bytesPerSecond ?? 0

const serverOf = (
  maxSizeBytes: number,
  usedSizeBytes: number,
  activity: ServerActivity | undefined,
): TierServer => {
  const bytesPerSecond = rateOf(activity)
  return {
    rate: bytesPerSecond === 0 ? undefined : { msPerSegment: 0, msPerByte: 1000 / bytesPerSecond },
    maxSizeBytes,
    usedSizeBytes,
    queuedLoads: 0,
    queuedBytes: 0,
  }
}
