import { useQuery } from '@tanstack/react-query'
import { callWorker } from '../preview/index.ts'
import { fetchJson } from '../session/index.ts'
import { pollMs, retryMs } from './refetching.ts'

/** The inventory of the cluster in the worker, and its figures. */
export const useInventory = () =>
  useQuery({ queryKey: ['inventory'], queryFn: () => callWorker('refresh', {}), refetchInterval: retryMs })

/** Permissions of one kind. */
interface Grant {
  readonly read: boolean
  readonly write: boolean
}

interface CallerAnswer {
  readonly identity: string
  readonly state: Grant
  readonly config: Grant
  readonly datasource: Grant | null
}

/** What the user may do, in general and with one datasource. */
export const useCaller = (dataSource?: string) =>
  useQuery({
    queryKey: ['caller', dataSource],
    queryFn: () =>
      fetchJson<CallerAnswer>(
        `/svc/router/v1/caller${dataSource === undefined ? '' : `?dataSource=${encodeURIComponent(dataSource)}`}`,
      ),
    staleTime: 30_000,
  })

/** A rule as JSON. */
export type RuleJson = Readonly<Record<string, unknown>> & { readonly type: string }

/** The stored rules that apply to a datasource. */
export interface StoredRules {
  readonly own: readonly RuleJson[]
  readonly defaults: readonly RuleJson[]
}

/** Returns the path of the rules of a datasource. */
export const rulesPath = (dataSource: string): string =>
  `/svc/coordinator/v1/rules/${encodeURIComponent(dataSource)}`

/** Fetches the stored rules of a datasource, with the cluster defaults that follow them. */
export async function fetchRules(dataSource: string): Promise<StoredRules> {
  const [own, all] = await Promise.all([
    fetchJson<RuleJson[]>(rulesPath(dataSource)),
    fetchJson<RuleJson[]>(`${rulesPath(dataSource)}?full`),
  ])
  return { own, defaults: all.slice(own.length) }
}

/** The stored rules of a datasource, refetched when other people change them. */
export const useRules = (dataSource: string) =>
  useQuery({
    queryKey: ['rules', dataSource],
    queryFn: () => fetchRules(dataSource),
    refetchInterval: retryMs,
  })

/** A rule change in the audit log. */
export interface RuleChange {
  readonly auditInfo: { readonly author: string; readonly identity: string; readonly comment: string }
  readonly auditTime: string
  readonly payload: string
}

/** The last changes of the rules of a datasource, newest first. */
export const useRuleHistory = (dataSource: string) =>
  useQuery({
    queryKey: ['history', dataSource],
    queryFn: () => fetchJson<RuleChange[]>(`${rulesPath(dataSource)}/history?count=20`),
    refetchInterval: retryMs,
  })

/** The last changes of any rules, newest first. */
export const useAllRuleChanges = () =>
  useQuery({
    queryKey: ['history'],
    queryFn: () =>
      fetchJson<(RuleChange & { readonly key: string })[]>('/svc/coordinator/v1/rules/history?count=8'),
    refetchInterval: retryMs,
  })

/** The clock of a cluster that simulates time. */
export const useSimulatedClock = (isAllowed: boolean) =>
  useQuery({
    queryKey: ['clock'],
    queryFn: () => fetchJson<{ readonly now: string; readonly rate: number }>('/svc/simulation/v1/clock'),
    enabled: isAllowed,
    retry: false,
  })

/** An interval of a datasource in the compaction status. */
export interface CompactionInterval {
  readonly interval: string
  readonly bytes: number
  readonly segments: number
  readonly reason?: string
}

interface CompactionAnswer {
  readonly dataSource: string
  readonly scheduleStatus: string
  readonly intervals?: {
    readonly awaiting: readonly CompactionInterval[]
    readonly skipped: readonly CompactionInterval[]
    readonly compacted: readonly CompactionInterval[]
  }
}

/** The compaction status of a datasource by interval; undefined if it is not compacted. */
export const useCompaction = (dataSource: string) =>
  useQuery({
    queryKey: ['compaction', dataSource],
    queryFn: async () => {
      const path = `/svc/indexer/v1/compaction/status/datasources/${encodeURIComponent(dataSource)}?full`
      const { latestStatus } = await fetchJson<{ readonly latestStatus: readonly CompactionAnswer[] }>(path)
      return latestStatus[0]?.intervals ?? null
    },
    retry: false,
    refetchInterval: (query) => (query.state.status === 'error' ? false : pollMs),
  })
