import { execFileSync } from 'node:child_process'
import { waitUntil } from '@svc/shared/testing'
import { svcCommand } from '../support/svc-command.ts'
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts'
import { writeSampleInventory } from './sample-inventory.ts'

/** Writes the sample inventory to an empty folder, and starts a settled cluster with it, whose clock can be moved. */
export async function startSampleCluster(snapshot: string): Promise<TestCluster> {
  writeSampleInventory(snapshot)
  const cluster = await startTestCluster({
    placeHome: (home) => {
      execFileSync(svcCommand, ['import', '--from', snapshot, '--home', home], { stdio: 'ignore' })
    },
    set: [
      'coordinator.svc.coordinator.period=PT1S',
      'svc.simulation.clock.enabled=true',
      'svc.simulation.enabled=true',
    ],
  })
  await waitUntil('the cluster is settled', () => isSettled(cluster))
  return cluster
}

/** Whether every replica is where the rules require it. */
export async function isSettled({ router }: TestCluster): Promise<boolean> {
  const state = await router.get<{ settled: boolean }>('/svc/coordinator/v1/clusterState')
  return state.settled
}
