import type { CallGroup } from '@svc/domain/calls'
import { type AnsweredFault, faultsPath } from '@svc/domain/faults'
import { useQuery } from '@tanstack/react-query'
import { fetchJson } from '../session/index.ts'
import { retryMs } from './refetching.ts'
import { refreshMs } from './refresh-ms.ts'

// The clocks of the browser and the servers may differ.
const minWaitMs = 1000

/** The active faults of a simulation. */
export const useFaults = (isNeeded = true) =>
  useQuery({
    queryKey: ['faults'],
    enabled: isNeeded,
    queryFn: () => fetchJson<readonly AnsweredFault[]>(faultsPath),
    refetchInterval: (query) => retryMs(query) || untilNextEndMs(query.state.data),
  })

/** Returns the milliseconds until a fault ends by itself, which no event reports; false if none does. */
function untilNextEndMs(faults: readonly AnsweredFault[] = []): number | false {
  const ends = faults.flatMap(({ until }) => (until === null ? [] : [Date.parse(until)]))
  return ends.length === 0 ? false : Math.max(minWaitMs, Math.min(...ends) - Date.now())
}

/** The calls between servers, in groups of equal calls. */
interface CallsOfCluster {
  readonly calls: readonly CallGroup[]
  readonly missing: readonly { readonly server: string; readonly reason: string }[]
  readonly omittedServers: number
}

/** The last calls between the servers of the cluster; only for users with READ on STATE. */
export const useCalls = (isAllowed: boolean) =>
  useQuery({
    queryKey: ['calls'],
    queryFn: () => fetchJson<CallsOfCluster>('/svc/coordinator/v1/calls'),
    enabled: isAllowed,
    refetchInterval: refreshMs,
  })
