import { useQuery } from '@tanstack/react-query'
import { fetchJson, hasCluster } from '../session/index.ts'
import { pollMs } from './refetching.ts'

/** An unused segment: in deep storage, but not queryable. */
export interface UnusedSegment {
  readonly interval: string
  readonly size: number
}

/** How many unused segments are read at most. */
export const maxUnusedSegments = 10_000

/** The unused segments of a datasource. A snapshot contains none. */
export const useUnusedSegments = (dataSource: string) =>
  useQuery({
    queryKey: ['unusedSegments', dataSource],
    queryFn: async (): Promise<readonly UnusedSegment[]> =>
      (
        await fetchJson<readonly { readonly dataSegment: UnusedSegment }[]>(
          `/svc/coordinator/v1/metadata/datasources/${encodeURIComponent(dataSource)}/unusedSegments?limit=${maxUnusedSegments}`,
        )
      ).map(({ dataSegment: { interval, size } }) => ({ interval, size })),
    ...(hasCluster() ? { refetchInterval: pollMs } : { enabled: false, initialData: [] }),
  })
