import { useQuery } from '@tanstack/react-query'
import { fetchJson, hasCluster } from '../session/index.ts'
import { refreshMs } from './refresh-ms.ts'
import type { RuleJson } from './rule-queries.ts'

interface ExplainedRule {
  /** Position in its own list. */
  readonly place: number
  readonly source: 'dataSource' | 'defaults' | 'lastRule'
  readonly rule: RuleJson
}

/** The replicas of a segment in one tier. */
export interface ExplainedTier {
  readonly tier: string
  readonly required: number
  readonly served: number
  readonly loading: number
  readonly dropping: number
  readonly leaving: number
  readonly servers: number
}

/** What a server has to do with a segment. */
export interface ExplainedServer {
  readonly server: string
  readonly tier: string
  readonly state: 'serves' | 'loads' | 'drops' | 'canLoad' | 'cannotLoad'
  readonly text: string
  readonly failure?: { readonly error: string; readonly at: string; readonly retryAt: string }
}

/** Why a segment is where it is. Unused segments have only the first fields. */
export interface SegmentExplanation {
  readonly summary: string
  readonly state: 'loaded' | 'partial' | 'missing' | 'unwanted' | 'overshadowed' | 'unused'
  readonly causes: readonly { readonly code: string; readonly text: string }[]
  readonly rule?: ExplainedRule
  readonly earlierRules?: readonly (ExplainedRule & { readonly text: string })[]
  readonly omittedRules?: number
  readonly tiers?: readonly ExplainedTier[]
  readonly servers?: readonly ExplainedServer[]
  readonly omittedServers?: number
  /** What happens next, in the next run unless there is a time. */
  readonly next?: readonly { readonly code: string; readonly at?: string; readonly text: string }[]
}

/** The coordinator's explanation of a segment, refetched while it is shown. A snapshot has none. */
export const useExplanation = (dataSource: string, segment: string | undefined) =>
  useQuery({
    queryKey: ['explanation', dataSource, segment],
    queryFn: () =>
      fetchJson<SegmentExplanation>(
        `/svc/coordinator/v1/datasources/${encodeURIComponent(dataSource)}/segments/${encodeURIComponent(segment!)}/explain`,
      ),
    enabled: hasCluster() && segment !== undefined,
    retry: false,
    refetchInterval: (query) => (query.state.status === 'error' ? false : refreshMs),
  })
