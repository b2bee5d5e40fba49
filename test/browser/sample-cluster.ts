import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { waitUntil } from '@svc/shared/testing'
import { svcCommand } from '../support/svc-command.ts'
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts'
import { writeSampleInventory } from './sample-inventory.ts'

// The console shows what was imported, and pictures must not show a path of this machine.
const snapshot = 'production'

/** Writes the sample inventory into a folder, and starts a settled cluster with it, whose clock can be moved. */
export async function startSampleCluster(folder: string): Promise<TestCluster> {
  writeSampleInventory(path.join(folder, snapshot))
  const cluster = await startTestCluster({
    placeHome: (home) => {
      const args = ['import', '--from', snapshot, '--home', home]
      execFileSync(svcCommand, args, { cwd: folder, stdio: 'ignore' })
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
