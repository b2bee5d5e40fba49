import type { CallGroup } from '@svc/domain/calls'
import type { FaultKind } from '@svc/domain/faults'
import { useQuery } from '@tanstack/react-query'
import { fetchJson } from '../session/index.ts'
import { refreshMs } from './refresh-ms.ts'

/** Path of the faults. */
export const faultsPath = '/svc/simulation/v1/faults'

/** An active fault. */
export interface ActiveFault {
  readonly id: string
  readonly kind: FaultKind
  /** A role, or a server by host and port. */
  readonly target: string
  /** The server whose requests to the target are the only affected ones; null for all requests. */
  readonly from: string | null
  readonly probability: number
  readonly delayMs: number
  /** ISO 8601; null if it does not end by itself. */
  readonly until: string | null
}

// How often a page that watches faults looks at the cluster.
const watchMs = refreshMs / 2

/** The active faults of a simulation. */
export const useFaults = (isAllowed: boolean) =>
  useQuery({
    queryKey: ['faults'],
    queryFn: () => fetchJson<readonly ActiveFault[]>(faultsPath),
    enabled: isAllowed,
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
