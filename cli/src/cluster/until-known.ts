import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '@svc/domain/failure'
import { type ClusterClient, connectToCluster } from '../client/index.ts'
import type { HomeLayout } from '../home/index.ts'

/** Whether the leader knows the cluster, and whether the cluster is settled, as returned by the coordinator. */
export interface AnsweredClusterState {
  readonly known: boolean
  readonly settled: boolean
  /** Why the cluster is not known or not settled. */
  readonly reasons: readonly string[]
  /** Replicas that rules require and the servers cannot have. */
  readonly shortages: readonly string[]
}

const pollMs = 200

/** The state of the cluster that the leader knows. */
export async function fetchClusterState(client: ClusterClient): Promise<AnsweredClusterState> {
  return (await client.send('GET', '/svc/coordinator/v1/clusterState')) as AnsweredClusterState
}

/**
 * Waits until the leader knows the cluster of a home: until it has the report of every server. Returns why it does not,
 * if the wait times out. Does not wait if the admin's password was changed, because the state is then unavailable.
 */
export async function untilKnown(home: HomeLayout, timeoutMs: number): Promise<readonly string[]> {
  const client = connectToCluster(home)
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const reasons = await unknownReasons(client)
    if (reasons.length === 0 || performance.now() >= deadline) return reasons
    await delay(pollMs)
  }
}

async function unknownReasons(client: ClusterClient): Promise<readonly string[]> {
  try {
    const { known, reasons } = await fetchClusterState(client)
    return known ? [] : reasons
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return ['unavailable', 'timedOut'].includes(error.code) ? [error.message] : []
  }
}
