import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Cluster, type FreePortsOptions, startAtFreePorts } from '../cluster/index.ts'

/** Does something with a new cluster in a temporary folder, then stops the cluster and deletes the folder. */
export async function withTemporaryCluster<Result>(
  optionsFor: (home: string) => Omit<FreePortsOptions, 'home'>,
  work: (cluster: Cluster) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
  try {
    const home = path.join(folder, 'home')
    const cluster = await startAtFreePorts({ ...optionsFor(home), home })
    try {
      return await work(cluster)
    } finally {
      await cluster.stop()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
