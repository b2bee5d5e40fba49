import { useQuery } from '@tanstack/react-query'
import { fetchJson } from '../session/index.ts'
import { refreshMs } from './refresh-ms.ts'

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
    refetchInterval: (query) => (query.state.status === 'error' ? false : 10 * refreshMs),
  })
