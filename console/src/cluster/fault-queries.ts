import type { CallGroup } from '@svc/domain/calls'
import { type AnsweredFault, faultsPath } from '@svc/domain/faults'
import { useQuery } from '@tanstack/react-query'
import { fetchJson } from '../session/index.ts'
import { refreshMs } from './refresh-ms.ts'

/** How often a page that watches faults looks at the cluster: a server that is killed may be back within seconds. */
export const watchMs = refreshMs / 2

/** The active faults of a simulation. */
export const useFaults = (isNeeded = true) =>
  useQuery({
    queryKey: ['faults'],
    enabled: isNeeded,
    queryFn: () => fetchJson<readonly AnsweredFault[]>(faultsPath),
    refetchInterval: watchMs,
  })

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
