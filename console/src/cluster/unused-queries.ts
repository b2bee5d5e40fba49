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
// A response with all of them would block the page while it is parsed.
const segmentsPerRequest = 2000

/** The unused segments of a datasource. A snapshot contains none. */
export const useUnusedSegments = (dataSource: string) =>
  useQuery({
    queryKey: ['unusedSegments', dataSource],
    queryFn: () => fetchUnusedSegments(dataSource),
    ...(hasCluster() ? { refetchInterval: pollMs } : { enabled: false, initialData: [] }),
  })

async function fetchUnusedSegments(dataSource: string): Promise<readonly UnusedSegment[]> {
  const path = `/svc/coordinator/v1/metadata/datasources/${encodeURIComponent(dataSource)}/unusedSegments`
  const segments: UnusedSegment[] = []
  let after = ''
  for (;;) {
    const page = await fetchJson<
      readonly { readonly dataSegment: UnusedSegment & { readonly identifier: string } }[]
    >(`${path}?limit=${segmentsPerRequest}${after}`)
    for (const { dataSegment } of page)
      segments.push({ interval: dataSegment.interval, size: dataSegment.size })
    const last = page.at(-1)
    if (last === undefined || page.length < segmentsPerRequest || segments.length >= maxUnusedSegments)
      return segments
    after = `&lastSegmentId=${encodeURIComponent(last.dataSegment.identifier)}`
  }
}
