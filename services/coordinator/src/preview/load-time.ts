import {
  type AnsweredLoadTime,
  type AnsweredTierLoadTime,
  estimateLoadTime,
  type LoadRate,
  type LoadTimeLimits,
  type TierLoads,
} from '@svc/domain/load-time'
import type { LoadingServer } from '@svc/domain/loading'
import type { PreviewResult } from '@svc/domain/preview'
import { countOf, formatDuration } from '@svc/domain/text'

/** What loading depends on in addition to the replicas. */
export interface LoadingState {
  readonly servers: readonly LoadingServer[]
  readonly limits: LoadTimeLimits
  /** Returns the measured rate of a server, or undefined if it has not been measured. */
  rateOf(server: string): LoadRate | undefined
}

/** Returns how long a change takes, by tier, from the rates that this cluster has measured. */
export function loadTimeOf(
  { outcome, datasources }: PreviewResult,
  { servers, limits, rateOf }: LoadingState,
): AnsweredLoadTime {
  const serversByName = new Map(servers.map((server) => [server.name, server]))
  const tiers: Record<string, AnsweredTierLoadTime> = {}
  for (const [index, { name, able }] of outcome.cluster.tiers.entries()) {
    const copies = { segments: 0, firstCopies: 0, furtherCopies: 0, bytes: 0 }
    for (const { tiers: changes } of datasources) {
      const { before, after, loaded } = changes[index]!
      const first = Math.min(Math.max(0, after.segments - before.segments), loaded.copies)
      copies.segments += loaded.segments
      copies.firstCopies += first
      copies.furtherCopies += loaded.copies - first
      copies.bytes += loaded.bytes
    }
    const loads = copies.firstCopies + copies.furtherCopies
    if (loads === 0) continue
    const measured: TierLoads['servers'] = able.map((server) => ({
      rate: rateOf(server.name),
      maxSizeBytes: server.maxSizeBytes,
      usedSizeBytes: serversByName.get(server.name)?.usedSizeBytes ?? 0,
      queuedLoads: serversByName.get(server.name)?.queuedLoads ?? 0,
      queuedBytes: serversByName.get(server.name)?.loadingSizeBytes ?? 0,
    }))
    const estimate = estimateLoadTime({ ...copies, servers: measured }, limits)
    tiers[name] = {
      durationMs: estimate === undefined ? null : Math.round(estimate.durationMs),
      limitedBy: estimate?.limitedBy ?? null,
      curve: (estimate?.curve ?? []).map(({ durationMs, loads: loaded }) => ({
        durationMs: Math.round(durationMs),
        loads: Math.round(loaded),
      })),
      loads,
      bytes: copies.bytes,
      servers: able.length,
      measuredServers: measured.filter(({ rate }) => rate !== undefined).length,
    }
  }
  const durations = Object.values(tiers).map(({ durationMs }) => durationMs)
  return {
    durationMs: durations.includes(null)
      ? null
      : durations.reduce<number>((max, duration) => Math.max(max, duration ?? 0), 0),
    tiers,
    assumptions: durations.length === 0 ? [] : assumptionsOf(limits),
  }
}

function assumptionsOf({
  periodMs,
  untilNextRunMs,
  maxLoadsPerServer,
  replicationThrottleLimit,
}: LoadTimeLimits): string[] {
  return [
    'Servers load segments at the rates measured earlier; a server without measurements loads as fast as the others in its tier',
    `The change is applied now. The coordinator runs every ${formatDuration(periodMs)}, and its next run is in ${formatDuration(untilNextRunMs)}`,
    Number.isFinite(maxLoadsPerServer)
      ? `Each load queue can contain up to ${countOf(maxLoadsPerServer, 'load')}`
      : 'Load queues have no size limit',
    `A run assigns up to ${countOf(replicationThrottleLimit, 'additional replica')} per tier; this limit does not apply to the first replica of a segment in a tier`,
    'No other segments are loaded, for example by balancing, decommissioning, or ingestion. Drops follow within two runs',
  ]
}
