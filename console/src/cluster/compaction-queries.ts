import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type CompactionStatus, intervalCountOf, maxCompactionIntervals } from '../answers/index.ts'
import { fetchJson, hasCluster } from '../session/index.ts'
import { sumOf } from '../sum-of.ts'
import { callWorker } from '../web-worker/index.ts'
import { useCaller } from './cluster-queries.ts'
import { retryMs } from './refetching.ts'
import type { AuditedChange } from './rule-queries.ts'

const base = '/svc/indexer/v1/compaction'

/** How to compact a datasource, as JSON. */
export type CompactionConfigJson = Readonly<Record<string, unknown>> & { readonly dataSource: string }

/** How the cluster compacts, as JSON. */
export type ClusterCompactionJson = Readonly<Record<string, unknown>> & {
  readonly compactionTaskSlotRatio: number
  readonly maxCompactionTaskSlots: number
  readonly compactionPolicy: { readonly type: string }
  readonly useSupervisors: boolean
  readonly engine: string
}

const statusPath = `${base}/status/datasources`

const fetchStatuses = async (path: string): Promise<readonly CompactionStatus[]> =>
  (await fetchJson<{ readonly latestStatus: readonly CompactionStatus[] }>(path)).latestStatus

/** The compaction status of all datasources that the user may read. */
export interface ListedStatuses {
  readonly statuses: readonly CompactionStatus[]
  /** Number of their intervals. */
  readonly intervalCount: number
  /** Whether the statuses contain the intervals: unless there are too many. */
  readonly hasIntervals: boolean
}

/** The compaction status of all datasources that the user may read, with every interval unless there are too many. */
export const useCompactionStatus = () =>
  useQuery({
    queryKey: ['compactionStatus'],
    queryFn: async (): Promise<ListedStatuses> => {
      const counted = await fetchStatuses(statusPath)
      const intervalCount = sumOf(counted, intervalCountOf)
      const hasIntervals = intervalCount <= maxCompactionIntervals
      const statuses = hasIntervals ? await fetchStatuses(`${statusPath}?full`) : counted
      return { statuses, intervalCount, hasIntervals }
    },
    refetchInterval: retryMs,
  })

/** The compaction of a datasource over time; null if it is not compacted. A snapshot does not say. */
export const useCompactionOverTime = (dataSource: string) =>
  useQuery({
    queryKey: ['compaction', dataSource, 'over time'],
    queryFn: ({ signal }) => callWorker('compaction', { dataSource }, signal),
    enabled: hasCluster(),
    retry: false,
  })

/** The intervals of a datasource by compaction state; null if it is not compacted. */
export const useCompaction = (dataSource: string, isNeeded: boolean) =>
  useQuery({
    queryKey: ['compaction', dataSource, 'intervals'],
    queryFn: async () => {
      const [status] = await fetchStatuses(`${statusPath}/${encodeURIComponent(dataSource)}?full`)
      return status?.intervals ?? null
    },
    enabled: isNeeded,
    retry: false,
  })

/** The compaction configurations of all datasources that the user may read. */
export const useCompactionConfigs = () =>
  useQuery({
    queryKey: ['compactionConfigs'],
    queryFn: async () =>
      (
        await fetchJson<{ readonly compactionConfigs: readonly CompactionConfigJson[] }>(
          `${base}/config/datasources`,
        )
      ).compactionConfigs,
    refetchInterval: retryMs,
  })

/** How the cluster compacts; only for users with READ on CONFIG. */
export function useClusterCompaction() {
  const { data: caller } = useCaller()
  return useQuery({
    queryKey: ['clusterCompaction'],
    queryFn: () => fetchJson<ClusterCompactionJson>(`${base}/config/cluster`),
    enabled: caller?.config.read === true,
    refetchInterval: retryMs,
  })
}

/** An interval that would be compacted, or that the policy postpones. */
export interface CompactionCandidate {
  readonly dataSource: string
  readonly interval: string
  readonly bytes: number
  readonly eligible: boolean
  readonly reason: string
}

interface Content {
  readonly bytes: number
  readonly segments: number
}

/** What would be compacted. */
export interface CompactionPreview {
  /** The first ones, in order. */
  readonly candidates: readonly CompactionCandidate[]
  /** All candidates that the policy selects. */
  readonly eligible: { readonly intervals: number; readonly bytes: number }
  readonly stats: Readonly<Record<string, Readonly<Record<'compacted' | 'skipped' | 'awaiting', Content>>>>
}

/** What to preview; what is left out is that of the cluster. */
export interface CompactionQuestion {
  readonly clusterConfig?: object
  readonly compactionConfigs?: readonly object[]
}

/** Previews compaction; only for users with WRITE on CONFIG. */
export function useCompactionPreview(question: CompactionQuestion, isNeeded = true) {
  const { data: caller } = useCaller()
  return useQuery({
    queryKey: ['compactionPreview', question],
    queryFn: () => fetchJson<CompactionPreview>(`${base}/simulate?brief`, { method: 'POST', body: question }),
    enabled: isNeeded && caller?.config.write === true,
    placeholderData: keepPreviousData,
    retry: false,
  })
}

/** The last change to the compaction configuration of a datasource; null if it was never changed. */
export const useLastConfigChange = (dataSource: string) =>
  useQuery({
    queryKey: ['compactionHistory', dataSource],
    queryFn: async () => {
      const path = `${compactionConfigPath(dataSource)}/history?count=1`
      const { entries } = await fetchJson<{ readonly entries: readonly AuditedChange[] }>(path)
      return entries[0] ?? null
    },
  })

/** Returns the path of the compaction configuration of a datasource. */
export const compactionConfigPath = (dataSource: string): string =>
  `${base}/config/datasources/${encodeURIComponent(dataSource)}`

/** A supervisor, which compacts one datasource periodically. */
export interface Supervisor {
  readonly id: string
  readonly dataSource: string
  readonly state: string
  readonly healthy: boolean
  readonly suspended: boolean
}

/** The supervisors of datasources that the user may write to. */
export const useSupervisors = (isNeeded: boolean) =>
  useQuery({
    queryKey: ['supervisors'],
    queryFn: () => fetchJson<readonly Supervisor[]>('/svc/indexer/v1/supervisor?state=true'),
    enabled: isNeeded,
    refetchInterval: retryMs,
  })
