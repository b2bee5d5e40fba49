import type { ClusterClient } from '../client/index.ts'
import type { Condition } from './wait-until.ts'

/** Whether the leader knows the cluster, and whether the cluster is settled, as returned by the coordinator. */
interface AnsweredClusterState {
  readonly known: boolean
  readonly settled: boolean
  /** Why the cluster is not known or not settled. */
  readonly reasons: readonly string[]
  /** Replicas that rules require and the servers cannot have. */
  readonly shortages: readonly string[]
  /** What the cluster does at a later, known time. Earlier versions do not return it. */
  readonly scheduled?: readonly string[]
}

/** The leader has a report from every server. */
export const clusterIsKnown =
  (client: ClusterClient): Condition =>
  async () => {
    const { known, reasons } = await fetchClusterState(client)
    return known ? [] : reasons
  }

/**
 * The cluster is known, load queues are empty, and a complete duty run changed nothing. Calls `onSettled` with permanent
 * shortages, and with what the cluster does later.
 */
export const clusterIsSettled =
  (client: ClusterClient, onSettled: (notices: readonly string[]) => void): Condition =>
  async () => {
    const { settled, reasons, shortages, scheduled = [] } = await fetchClusterState(client)
    if (!settled) return reasons
    onSettled([...shortages, ...scheduled])
    return []
  }

async function fetchClusterState(client: ClusterClient): Promise<AnsweredClusterState> {
  return (await client.send('GET', '/svc/coordinator/v1/clusterState')) as AnsweredClusterState
}
