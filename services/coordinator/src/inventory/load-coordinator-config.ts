import {
  type CoordinatorConfig,
  coordinatorConfigName,
  readCoordinatorConfig,
} from '@svc/shared/coordinator-dynamic-config'
import { type Database, loadConfig } from '@svc/shared/postgres'

/** Returns the current dynamic configuration of the coordinator from the metadata store. */
export async function loadCoordinatorConfig(database: Database): Promise<CoordinatorConfig> {
  return readCoordinatorConfig(await loadConfig(database, coordinatorConfigName))
}
