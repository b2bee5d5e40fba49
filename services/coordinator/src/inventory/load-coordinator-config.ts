import {
  type CoordinatorConfig,
  coordinatorConfigName,
  readCoordinatorConfig,
} from '@svc/shared/coordinator-config'
import { type Database, loadConfig } from '@svc/shared/postgres'

/** The dynamic configuration of the coordinator as the metadata store has it now. */
export async function loadCoordinatorConfig(database: Database): Promise<CoordinatorConfig> {
  return readCoordinatorConfig(await loadConfig(database, coordinatorConfigName))
}
