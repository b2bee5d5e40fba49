import {
  type CoordinatorConfig,
  coordinatorConfigName,
  readCoordinatorConfig,
} from '@svc/shared/coordinator-dynamic-config'
import { type Database, loadConfig, type TableChanges } from '@svc/shared/postgres'

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
  let last: { readonly config: Promise<CoordinatorConfig>; readonly changes: number } | undefined
  return async () => {
    await changes.catchUp()
    const count = changes.countOf('dynamic_configs')
    if (last !== undefined && last.changes === count) return await last.config
    const config = loadCoordinatorConfig(database)
    if (count === undefined) return await config
    const started = { config, changes: count }
    last = started
    config.catch(() => {
      if (last === started) last = undefined
    })
    return await config
  }
}
