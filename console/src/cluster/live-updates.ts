import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { currentSession, endSession, hasCluster, useSession } from '../session/index.ts'
import { type ClusterChanges, callWorker, listenToCluster } from '../web-worker/index.ts'
import { Refetcher } from './refetcher.ts'
import { lacksPermission } from './refetching.ts'

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
      if (event.kind === 'reset') refetcher.refetchEverything()
      if (event.kind === 'connected') {
        setConnection(connected)
        // Repeats what failed in the meantime, because events report only what has changed.
        void queries.invalidateQueries({
          predicate: ({ state: { status, error } }) => status === 'error' && !lacksPermission(error),
        })
      }
      if (event.kind !== 'lost') return
      if (event.status === 401) endSession(currentSession().authorization)
      else setConnection({ lostAt: connection.lostAt ?? Date.now(), message: event.message })
    })
  }, [queries])
}

// What depends on the content of datasources, and on anything that servers do.
const keysOfContent = ['compaction', 'unusedSegments']
const keysOfAnyChange = [
  'inventory',
  'clock',
  'explanation',
  'explainServer',
  'explainTask',
  'segmentsToLoad',
  'serverActivity',
]
const keysOfServers = ['servers', 'loadqueue', 'nodes', 'serverProblems']
const keysOfTasks = ['tasks', 'unfinished tasks', 'supervisors']
const keysOfTopics: Readonly<Record<NonNullable<ClusterChanges['topics']>[number], readonly string[]>> = {
  access: ['caller', 'access', 'accessAnswer'],
  audit: [
    'clusterCompaction',
    'compaction',
    'compactionConfigs',
    'compactionHistory',
    'faults',
    'history',
    'securityAudit',
    'supervisors',
  ],
  nodes: ['nodes', 'leaders', 'certificates', 'duties'],
  refusals: ['failedLogins', 'refusedHandshakes'],
  serverProblems: ['serverProblems'],
}
// Planning the compaction of the entire cluster takes longer than other answers.
const keysOfPlans = ['compactionStatus', 'compactionPreview']
const planPauseMs = 12_000

function refetchChanged(queries: QueryClient, refetcher: Refetcher, changes: ClusterChanges): void {
  const { segments, rules, tasks = [], servers = false, topics = [], clusterState } = changes
  const refetchAll = (keys: readonly string[], ...rest: string[]) => {
    for (const key of keys) refetcher.refetch(key, ...rest)
  }
  refetchAll(keysOfAnyChange)
  // Loads and drops change neither which segments are compacted nor which are unused, but tasks can delete unused ones.
  const changed = Object.keys(segments).filter((name) => segments[name]!.added + segments[name]!.removed > 0)
  for (const dataSource of new Set([...changed, ...tasks])) refetchAll(keysOfContent, dataSource)
  for (const dataSource of rules)
    refetcher.refetch('rules', ...(dataSource === '_default' ? [] : [dataSource]))
  if (rules.length > 0) refetcher.refetch('history')
  if (tasks.length > 0) refetchAll(keysOfTasks)
  if (servers) refetchAll(keysOfServers)
  for (const topic of topics) refetchAll(keysOfTopics[topic])
  if (changed.length + tasks.length > 0 || topics.includes('audit'))
    for (const key of keysOfPlans) refetcher.refetchWithPause(planPauseMs, key)
  if (clusterState !== undefined) queries.setQueryData(['clusterState'], clusterState)
}
