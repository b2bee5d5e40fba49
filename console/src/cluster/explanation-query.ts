import type { ExplanationAnswer } from '@svc/domain/explanation'
import { useQuery } from '@tanstack/react-query'
import { fetchJson, hasCluster } from '../session/index.ts'

/** The coordinator's explanation of a segment, refetched after each change while it is shown. A snapshot has none. */
export const useExplanation = (dataSource: string, segment: string | undefined) =>
  useQuery({
    queryKey: ['explanation', dataSource, segment],
    queryFn: () =>
      fetchJson<ExplanationAnswer>(
        `/svc/coordinator/v1/datasources/${encodeURIComponent(dataSource)}/segments/${encodeURIComponent(segment!)}/explain`,
      ),
    enabled: hasCluster() && segment !== undefined,
    retry: false,
  })
