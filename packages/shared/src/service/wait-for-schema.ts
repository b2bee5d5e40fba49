import { describeError, unavailable } from '@svc/domain/failure'
import { isSchemaCurrent, migrateSchema } from '../postgres/index.ts'
import { retry } from '../retry/index.ts'
import { createProblemLog } from '../runtime/index.ts'
import type { ServiceContext } from './context.ts'

// All processes of a cluster start at once, so a store that is not ready at first is no reason for an error in the log.
const quietMs = 2000

/**
 * Waits for the metadata store. The coordinator creates or migrates its tables; the other servers wait for that. Also
 * returns if the server stops.
 */
export async function waitForSchema({
  settings,
  database,
  logger,
  readiness,
  stopping,
}: Pick<ServiceContext, 'settings' | 'database' | 'logger' | 'readiness' | 'stopping'>): Promise<void> {
  const problemLog = createProblemLog(logger)
  const startedAt = performance.now()
  const isMissing = unavailable('Waiting for a coordinator to create the metadata tables')
  const assertCurrent = async () => {
    if (settings.role === 'coordinator') await migrateSchema(database)
    if (!(await isSchemaCurrent(database))) throw isMissing
  }
  const onRetry = (error: Error) => {
    if (error === isMissing) return readiness.setProblem('store', error.message)
    readiness.setProblem('store', 'Cannot use the metadata store; see the log of this server')
    if (performance.now() - startedAt < quietMs) return
    const cause = describeError(error.cause ?? '')
    problemLog.report('Cannot use the metadata store', { error: describeError(error), cause })
  }
  try {
    await retry(assertCurrent, {
      isTemporary: () => !stopping.aborted,
      delayMs: 25,
      maxDelayMs: 1000,
      signal: stopping,
      onRetry,
    })
    readiness.setProblem('store', undefined)
  } catch (error) {
    if (!stopping.aborted) throw error
  }
}
