import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { loadSettings } from '@svc/shared/config'
import { createDatabase, migrateSchema, sql } from '@svc/shared/postgres'
import { type Cluster, commonPropertiesFile, pickPortOffset, startCluster } from '../cluster/index.ts'
import type { HomeLayout } from '../home/index.ts'

/** A running Postgres and Redis for tests. */
export interface TestStores {
  /** The environment variables from which tests know them. */
  readonly environment: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/**
 * Starts the stores in a folder. SVC_TEST_STORES is the path of a properties file with their addresses; their database has
 * the schema, and tests copy it. With `hasClusters`, SVC_TEST_PREPARED_HOME is a home that has the schema and has not been
 * used otherwise; test clusters copy it.
 */
export async function startTestStores(folder: string, hasClusters: boolean): Promise<TestStores> {
  const home = path.join(folder, 'stores')
  const preparedHome = path.join(folder, 'prepared-home')
  const start = async () =>
    await startCluster({ home, portOffset: await pickPortOffset(), profile: 'plain', storesOnly: true })
  let stores = await start()
  await prepareDatabase(stores)
  if (hasClusters) {
    await stores.stop()
    copyStore(stores.home, preparedHome)
    stores = await start()
  }
  const environment = { SVC_TEST_STORES: commonPropertiesFile(stores.home) }
  return {
    environment: hasClusters ? { ...environment, SVC_TEST_PREPARED_HOME: preparedHome } : environment,
    stop: () => stores.stop(),
  }
}

/** Creates the schema. From then on, Postgres does not wait for the disk, because everything is deleted anyway. */
async function prepareDatabase(stores: Cluster): Promise<void> {
  const settings = loadSettings('coordinator', [commonPropertiesFile(stores.home)], {})
  const database = createDatabase(settings, { connections: 2, applicationName: 'tests' })
  try {
    await migrateSchema(database)
    await database.query(sql`ALTER SYSTEM SET fsync = off`)
    await database.query(sql`SELECT pg_reload_conf()`)
  } catch (error) {
    await stores.stop()
    throw error
  } finally {
    await database.close()
  }
}

/** Copies Postgres and its password to a new home. */
function copyStore({ marker, secrets, postgres }: HomeLayout, to: string): void {
  mkdirSync(to)
  for (const part of [marker, secrets, postgres]) execFileSync('cp', ['-a', part, to])
}
