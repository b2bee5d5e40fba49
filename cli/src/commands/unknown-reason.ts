import { Failure } from '@svc/domain/failure'
import { accessToCluster, type ClusterAccess, clientOf } from '../client/index.ts'
import type { HomeLayout } from '../home/index.ts'
import { clusterIsKnown, waitUntil } from '../waiting/index.ts'

// How long to wait until the leader has a report from every server. Thousands of virtual servers take a while.
const timeoutMs = 60_000

/** Waits until the leader has a report from every server. Returns why it does not, if the wait times out. */
export async function unknownReason(home: HomeLayout, coordinatorUrl: string): Promise<string | undefined> {
  const { signal } = new AbortController()
  const wait = (access: ClusterAccess) => waitUntil(clusterIsKnown(clientOf(access)), { timeoutMs, signal })
  try {
    const access = accessToCluster(home)
    await wait({ ...access, routerUrl: coordinatorUrl }).catch((error: Failure) => {
      if (error.code === 'timedOut') throw error
      // The router finds the leader if it is another coordinator.
      return wait(access)
    })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.code === 'timedOut') return error.message
    // The stored password of the admin may have been changed. The cluster is ready nevertheless.
  }
  return undefined
}
