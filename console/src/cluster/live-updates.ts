import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { currentSession, endSession, hasCluster, useSession } from '../session/index.ts'
import { type ClusterChanges, callWorker, listenToCluster } from '../web-worker/index.ts'
import { Refetcher } from './refetcher.ts'

/** Whether the page follows the cluster. */
interface ConnectionState {
  /** When the connection was lost, in epoch milliseconds; undefined while the page is connected. */
  readonly lostAt: number | undefined
  readonly message: string | undefined
}

const connected: ConnectionState = { lostAt: undefined, message: undefined }
let connection = connected
const listeners = new Set<() => void>()

function setConnection(next: ConnectionState): void {
  connection = next
  for (const listener of listeners) listener()
}

/** Returns whether the page follows the cluster, and renders again when that changes. */
export const useConnection = (): ConnectionState =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => connection,
  )

/** Refetches what has changed in the cluster while the page is visible. */
export function useLiveUpdates(): void {
  const queries = useQueryClient()
  const { state, authorization } = useSession()
  // The worker sends the login of the current session, so another one starts another stream.
  useEffect(() => {
    if (!hasCluster()) return
    const follow = () =>
      void callWorker('follow', { isOn: state === 'loggedIn' && document.visibilityState === 'visible' })
    follow()
    document.addEventListener('visibilitychange', follow)
    return () => document.removeEventListener('visibilitychange', follow)
  }, [state, authorization])
  useEffect(() => {
    const refetcher = new Refetcher(queries)
    return listenToCluster((event) => {
      if (event.kind === 'changes') refetchChanged(queries, refetcher, event.changes)
      if (event.kind === 'reset') void queries.invalidateQueries()
      if (event.kind === 'connected') {
        setConnection(connected)
        // Repeats what failed in the meantime, because events report only what has changed.
        void queries.invalidateQueries({ predicate: ({ state: { status } }) => status === 'error' })
      }
      if (event.kind !== 'lost') return
      if (event.status === 401) endSession(currentSession().authorization)
      else setConnection({ lostAt: connection.lostAt ?? Date.now(), message: event.message })
    })
  }, [queries])
}

function refetchChanged(
  queries: QueryClient,
  refetcher: Refetcher,
  { segments, rules, tasks = [], servers = false, clusterState }: ClusterChanges,
): void {
  const refetch = (...queryKey: string[]) => refetcher.refetch(...queryKey)
  refetch('inventory')
  refetch('clock')
  for (const [dataSource, { added, removed }] of Object.entries(segments)) {
    // Loads and drops change neither which segments are compacted nor which are unused.
    if (added + removed > 0) for (const key of ['compaction', 'unusedSegments']) refetch(key, dataSource)
  }
  for (const dataSource of rules) {
    if (dataSource === '_default') refetch('rules')
    else refetch('rules', dataSource)
  }
  if (rules.length > 0) refetch('history')
  if (tasks.length > 0) for (const key of ['tasks', 'unfinished tasks']) refetch(key)
  if (servers) for (const key of ['servers', 'loadqueue', 'nodes', 'serverProblems']) refetch(key)
  if (clusterState !== undefined) queries.setQueryData(['clusterState'], clusterState)
}
