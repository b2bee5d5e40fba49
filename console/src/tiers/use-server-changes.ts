import type { PreviewServer, ServerChanges } from '@svc/domain/preview'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { useInventory } from '../cluster/index.ts'
import { callWorker } from '../web-worker/index.ts'

/** What is assumed to happen to a server. */
export type ServerFate = 'failed' | 'drained'

/** Changes to the servers that are only assumed, and what they would do; undefined for users who cannot read everything. */
export function useServerChanges() {
  const { data: inventory } = useInventory()
  const [fates, setFates] = useState<ReadonlyMap<string, ServerFate>>(new Map())
  const [added, setAdded] = useState<readonly PreviewServer[]>([])
  const hostsOf = (fate: ServerFate) => [...fates].flatMap(([host, of]) => (of === fate ? host : []))
  const changes: ServerChanges = { failed: hostsOf('failed'), drained: hostsOf('drained'), added }
  const { data: preview, isPlaceholderData } = useQuery({
    queryKey: ['serverChanges', inventory?.revision, changes],
    queryFn: ({ signal }) => callWorker('changeServers', changes, signal),
    enabled: inventory?.isLocal === true,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
    retry: false,
  })
  // The same function at each rendering, so that cards of other servers are not rendered again.
  const setFate = useCallback((host: string, fate: ServerFate): void => {
    setFates((known) => {
      const next = new Map(known)
      if (next.get(host) === fate) next.delete(host)
      else next.set(host, fate)
      return next
    })
  }, [])
  return {
    changes,
    isChanged: fates.size + added.length > 0,
    preview: inventory?.isLocal ? preview : undefined,
    /** Whether the preview is that of earlier changes, because the next one is being computed. */
    isOutdated: isPlaceholderData,
    fateOf: (host: string): ServerFate | undefined => fates.get(host),
    /** Assumes something about a server, or no longer does. */
    setFate,
    add: (tier: string, count: number, maxSizeBytes: number): void => {
      const servers = Array.from(
        { length: count },
        (_, index): PreviewServer => ({
          name: `added server ${added.length + index + 1}`,
          type: 'historical',
          tier,
          maxSizeBytes,
          decommissioning: false,
        }),
      )
      setAdded([...added, ...servers])
    },
    discard: (): void => {
      setFates(new Map())
      setAdded([])
    },
  }
}

/** The assumed changes, and what they would do. */
export type AssumedChanges = ReturnType<typeof useServerChanges>
