import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useInventory } from '../cluster/index.ts'
import { callWorker } from '../web-worker/index.ts'
import { useClockOffset } from './clock-offset.ts'

/**
 * Returns what the stored rules do to all datasources at the time that the page shows; disabled while that is now, and for
 * users who cannot read the entire cluster.
 */
export function useFuture() {
  const { data: inventory } = useInventory()
  const offsetMs = useClockOffset()
  const now = (inventory?.now ?? 0) + offsetMs
  const isFuture = offsetMs > 0 && inventory?.isLocal === true
  const future = useQuery({
    queryKey: ['future', inventory?.revision, now],
    queryFn: ({ signal }) => callWorker('future', { now }, signal),
    enabled: isFuture,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
    retry: false,
  })
  return { isFuture, answer: isFuture ? future.data : undefined, error: future.error }
}
