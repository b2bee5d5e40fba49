import { Failure } from '@svc/domain/failure'
import { createAnnouncement } from './announcement.ts'
import { exitWithMessage } from './configuration.ts'
import type { ServiceContext, ServiceOptions } from './context.ts'
import { watchOwnCertificate } from './own-certificate.ts'
import { retryWhileStoreIsUnavailable } from './retry-while-store-is-unavailable.ts'
import { logProblems, saveProblems } from './server-problems.ts'
import type { ServerWork } from './server-work.ts'
import type { Watch } from './stop-service.ts'
import { waitForSchema } from './wait-for-schema.ts'

/**
 * Starts the work of a server whose ports are open: waits for the metadata store, its own certificate, and users and
 * roles; then it announces itself. Adds to `watches` what it starts to watch. Returns early if the server stops.
 */
export async function startService(
  stopping: AbortSignal,
  work: ServerWork,
  options: ServiceOptions,
  watches: Watch[],
  name: () => string,
): Promise<void> {
  const { context } = work
  const { settings, logger, readiness, stores, coordination, discovery } = context
  await waitForSchema(context)
  // A store that is still being set up may become unavailable again after its first response.
  const storeWaits = { logger, stopping }
  await context.simulatedClock?.start()
  watches.push(saveProblems(coordination, context.node(), readiness))
  if (settings.role === 'coordinator') watches.push(logProblems(coordination, logger, name))
  await prepareStore(context, options, storeWaits)
  const announcement = createAnnouncement(discovery, readiness, context.node, storeWaits)
  const certificate = watchOwnCertificate(
    context.node(),
    stores,
    readiness,
    logger,
    announcement.reachableChanged,
  )
  watches.push(certificate)
  await certificate.holds
  if (stopping.aborted) return
  await work.start()
  if (stopping.aborted) return
  await announcement.begin()
  readiness.markReady()
  logger.info('Ready', { startedInMs: Math.round(performance.now()) })
}

/** Creates initial users and default rules. Exits with a message if their configuration is invalid. */
async function prepareStore(
  context: ServiceContext,
  options: ServiceOptions,
  storeWaits: Pick<ServiceContext, 'logger' | 'stopping'>,
): Promise<void> {
  try {
    await retryWhileStoreIsUnavailable(async () => options.prepareStore?.(context), storeWaits)
  } catch (error) {
    if (error instanceof Failure && error.code === 'invalidInput') exitWithMessage(error.message)
    throw error
  }
}
