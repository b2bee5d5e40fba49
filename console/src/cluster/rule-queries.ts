import { type RuleJson, rulesPathOf } from '@svc/domain/rules'
import { useQuery } from '@tanstack/react-query'
import { fetchJson, send } from '../session/index.ts'
import { retryMs } from './refetching.ts'

/** The stored rules that apply to a datasource. */
export interface StoredRules {
  readonly own: readonly RuleJson[]
  readonly defaults: readonly RuleJson[]
  /** The ETag of the rules of the datasource. A snapshot has none. */
  readonly version: string | undefined
}

/** Fetches the stored rules of a datasource, with the cluster defaults that follow them. */
export async function fetchRules(dataSource: string): Promise<StoredRules> {
  const [response, all] = await Promise.all([
    send(rulesPathOf(dataSource)),
    fetchJson<RuleJson[]>(`${rulesPathOf(dataSource)}?full`),
  ])
  const own = (await response.json()) as RuleJson[]
  return { own, defaults: all.slice(own.length), version: response.headers.get('etag') ?? undefined }
}

/** The stored rules of a datasource, refetched when other people change them. */
export const useRules = (dataSource: string) =>
  useQuery({
    queryKey: ['rules', dataSource],
    queryFn: () => fetchRules(dataSource),
    refetchInterval: retryMs,
  })

/** Who changed something, when, and why. */
export interface AuditedChange {
  readonly auditInfo: { readonly author: string; readonly identity: string; readonly comment: string }
  readonly auditTime: string
}

/** A rule change in the audit log. */
export interface RuleChange extends AuditedChange {
  readonly payload: string
}

/** A rule change with the rules that it replaced, as a JSON string; null if they are unknown. */
export interface DetailedRuleChange extends RuleChange {
  readonly replaced: string | null
}

/** Maximum number of changes in the history of a datasource. */
export const maxRuleChanges = 20

/** The last change to the rules of a datasource; undefined if they were never changed. */
export const useLastRuleChange = (dataSource: string) =>
  useQuery({
    queryKey: ['history', dataSource, 'last'],
    queryFn: async () =>
      (await fetchJson<RuleChange[]>(`${rulesPathOf(dataSource)}/history?count=1`))[0] ?? null,
    refetchInterval: retryMs,
  })

/** The last changes to the rules of a datasource, newest first. */
export const useRuleHistory = (dataSource: string) =>
  useQuery({
    queryKey: ['history', dataSource],
    queryFn: () =>
      fetchJson<DetailedRuleChange[]>(`${rulesPathOf(dataSource)}/history?count=${maxRuleChanges}&full`),
    refetchInterval: retryMs,
  })

/** The last changes to any rules, newest first. */
export const useAllRuleChanges = () =>
  useQuery({
    queryKey: ['history'],
    queryFn: () =>
      fetchJson<(RuleChange & { readonly key: string })[]>('/svc/coordinator/v1/rules/history?count=8'),
    refetchInterval: retryMs,
  })
