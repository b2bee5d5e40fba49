import { useQuery } from '@tanstack/react-query'
import { fetchJson, hasCluster } from '../session/index.ts'
import { readPages } from './read-pages.ts'
import { retryMs } from './refetching.ts'

/** An unused segment: in deep storage, but not queryable. */
export interface UnusedSegment {
  readonly identifier: string
  readonly interval: string
  readonly size: number
}

/** How many unused segments are read at most. */
export const maxUnusedSegments = 10_000
// Parsing all of them at once would block the page.
const pageSize = 2000

/** The unused segments of a datasource. A snapshot contains none. */
export const useUnusedSegments = (dataSource: string) =>
  useQuery({
    queryKey: ['unusedSegments', dataSource],
    queryFn: () => {
      const path = `/svc/coordinator/v1/metadata/datasources/${encodeURIComponent(dataSource)}/unusedSegments`
      return readPages({ pageSize, max: maxUnusedSegments }, async (last: UnusedSegment | undefined) => {
        const after = last === undefined ? '' : `&lastSegmentId=${encodeURIComponent(last.identifier)}`
        const page = await fetchJson<readonly { readonly dataSegment: UnusedSegment }[]>(
          `${path}?limit=${pageSize}${after}`,
        )
        return page.map(({ dataSegment: { identifier, interval, size } }) => ({ identifier, interval, size }))
      })
    },
    ...(hasCluster() ? { refetchInterval: retryMs } : { enabled: false, initialData: [] }),
  })
