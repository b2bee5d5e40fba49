import { describeError } from '@svc/domain/failure'
import { isSchemaCurrent, migrateSchema } from '../postgres/index.ts'
import { createTroubleLog } from '../runtime/index.ts'
import type { ServiceContext } from './context.ts'

/** Waits for the metadata store. The coordinator creates or migrates its tables; the other servers wait for that. */
export async function waitForSchema({
  settings,
  database,
  logger,
  readiness,
  stopping,
}: Pick<ServiceContext, 'settings' | 'database' | 'logger' | 'readiness' | 'stopping'>): Promise<void> {
  const trouble = createTroubleLog(logger)
  for (let attempt = 0; !stopping.aborted; attempt++) {
    try {
      if (settings.role === 'coordinator') await migrateSchema(database)
      if (await isSchemaCurrent(database)) {
        readiness.setTrouble('store', undefined)
        return
      }
      readiness.setTrouble('store', 'Waiting for a coordinator to create the metadata tables')
    } catch (error) {
      readiness.setTrouble('store', 'Cannot use the metadata store; see the log of this server')
      if (attempt > 80)
        trouble.report('Cannot use the metadata store', {
          error: describeError(error),
          cause: describeError((error as Error).cause ?? ''),
        })
    }
    // Short at first, because all processes of a cluster start at once; later, slower to reduce load.
    await new Promise((resolve) => setTimeout(resolve, attempt < 80 ? 25 : 1000))
  }
}
