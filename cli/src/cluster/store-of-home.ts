import { loadSettings } from '@svc/shared/config'
import { deepStorageConfig, type FileStore, openStore } from '@svc/shared/deep-storage'
import { createDatabase, type Database } from '@svc/shared/postgres'
import { type HomeLayout, readRunFile } from '../home/index.ts'
import { isRunning } from '../processes/index.ts'
import { pickPortOffset } from './free-ports.ts'
import { startCluster } from './start-cluster.ts'
import { commonPropertiesFile, runtimePropertiesFile } from './write-configuration.ts'

/**
 * Runs `work` with the metadata store and deep storage of a home. If no cluster is running there, starts its stores for
 * the time being, with the properties `set`, as for `./svc up`.
 */
export async function withStoreOf<Result>(
  home: HomeLayout,
  { set = [], signal }: { readonly set?: readonly string[]; readonly signal: AbortSignal },
  work: (database: Database, storage: FileStore) => Promise<Result>,
): Promise<Result> {
  const run = readRunFile(home)
  const running = run !== undefined && isRunning(run.supervisor)
  const stores = running
    ? undefined
    : await startCluster({
        home: home.root,
        portOffset: await pickPortOffset(),
        profile: 'plain',
        set,
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
      return await work(database, openStore('deep storage', deepStorageConfig(settings)))
    } finally {
      await database.close()
    }
  } finally {
    await stores?.stop()
  }
}
