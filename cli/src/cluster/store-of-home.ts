import { loadSettings } from '@svc/shared/config'
import { createDatabase, type Database } from '@svc/shared/postgres'
import { type HomeLayout, readRunFile } from '../home/index.ts'
import { isRunning } from '../processes/index.ts'
import { pickPortOffset } from './free-ports.ts'
import { startCluster } from './start-cluster.ts'
import { commonPropertiesFile, runtimePropertiesFile } from './write-configuration.ts'

/** Runs `work` with the metadata store of a home. If no cluster is running there, starts its stores for the time being. */
export async function withStoreOf<Result>(
  home: HomeLayout,
  signal: AbortSignal,
  work: (database: Database, storageDirectory: string) => Promise<Result>,
): Promise<Result> {
  const run = readRunFile(home)
  const running = run !== undefined && isRunning(run.supervisor)
  const stores = running
    ? undefined
    : await startCluster({
        home: home.root,
        portOffset: await pickPortOffset(),
        profile: 'plain',
        storesOnly: true,
        signal,
      })
  try {
    const files = [
      commonPropertiesFile(home),
      ...(running ? [runtimePropertiesFile(home, 'coordinator')] : []),
    ]
    const settings = loadSettings('coordinator', files, {})
    const database = createDatabase(settings, { connections: 2, applicationName: 'svc command' })
    try {
      return await work(database, settings.get('svc.storage.storageDirectory'))
    } finally {
      await database.close()
    }
  } finally {
    await stores?.stop()
  }
}
