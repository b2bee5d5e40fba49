import {
  type CoordinatorConfig,
  coordinatorConfigName,
  readCoordinatorConfig,
} from '@svc/shared/coordinator-dynamic-config'
import { type Database, loadConfig, type TableChanges } from '@svc/shared/postgres'
import { readOnChange } from './read-on-change.ts'

/** Returns the current dynamic configuration of the coordinator from the metadata store. */
export async function loadCoordinatorConfig(database: Database): Promise<CoordinatorConfig> {
  return readCoordinatorConfig(await loadConfig(database, coordinatorConfigName))
}

/**
 * Returns a function that returns the dynamic configuration of the coordinator. It reads the configuration again only if it has
 * changed since the last read.
 */
export function followCoordinatorConfig(
  database: Database,
  changes: Pick<TableChanges, 'catchUp' | 'countOf'>,
): () => Promise<CoordinatorConfig> {
  const read = readOnChange(
    () => loadCoordinatorConfig(database),
    () => changes.countOf('dynamic_configs'),
  )
  return async () => {
    await changes.catchUp()
    return await read()
  }
}
