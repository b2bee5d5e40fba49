import path from 'node:path'
import { unavailable } from '@svc/domain/failure'
import { deepStorageConfig, openDeepStorage } from '@svc/shared/deep-storage'
import { slowedBy } from '@svc/shared/faults'
import type { Route } from '@svc/shared/http'
import { loadPayloads, ParsedRules } from '@svc/shared/postgres'
import type { DataServer } from '@svc/shared/segment-serving'
import type { ServiceContext } from '@svc/shared/service'
import { createQueryProcesses } from '../query-processes/index.ts'
import type { ServerView } from '../server-view/index.ts'
import { datasourceRoutes } from './datasource-routes.ts'
import { createFetchedFiles } from './fetched-files.ts'
import type { TableSources } from './prepare-tables.ts'
import { registerQueryMetrics } from './query-metrics.ts'
import { queryRoutes } from './query-routes.ts'
import { createRunningQueries } from './running-queries.ts'
import { createUsedSegments } from './used-segments.ts'

/** The part of a broker that answers queries. */
export interface Queries {
  readonly routes: readonly Route[]
  /** Gives running queries a few seconds to finish, then cancels the rest and stops the query processes. */
  stop(): Promise<void>
}

// Shorter than the grace period for requests of a stopping server, so that callers still get an answer.
const queryGraceMs = 4000

/** Creates the query part of a broker. Nothing is opened, started, or loaded before the first query. */
export function createQueries(
  context: TableSources['context'] & Pick<ServiceContext, 'faults' | 'metrics'>,
  view: ServerView,
  own: DataServer,
): Queries {
  const { settings, client, logger, database } = context
  const directory = path.resolve(settings.get('svc.query.directory'))
  const workDirectory = path.join(directory, 'work')
  const processes = createQueryProcesses({
    maxRunning: settings.get('svc.query.maxConcurrent'),
    maxQueued: settings.get('svc.query.maxQueued'),
    maxQueuedPerCaller: settings.get('svc.query.maxQueuedPerCaller'),
    memoryLimitBytes: settings.get('svc.query.memoryLimit'),
    memoryLimitPerCallerBytes: settings.get('svc.query.memoryLimitPerCaller'),
    maxRunMsPerCaller: settings.get('svc.query.maxTimePerCaller'),
    spillDirectory: path.join(workDirectory, 'parse'),
    onReject: (reason) => context.metrics.count('svc_queries_rejected_total', { reason }),
  })
  registerQueryMetrics(context.metrics, processes)
  const files = createFetchedFiles({
    directory: path.join(directory, 'segments'),
    maxSizeBytes: settings.get('svc.query.cacheSize'),
    client,
    deepStorage: slowedBy(context.faults.diskDelayMs, openDeepStorage(deepStorageConfig(settings))),
    logger,
    loadPayloads: (ids) => loadPayloads(database, ids),
  })
  const sources = {
    context,
    view,
    own,
    used: createUsedSegments(database),
    files,
    parsedRules: new ParsedRules(),
  }
  const ending = new AbortController()
  const engine = { sources, processes, workDirectory, ending: ending.signal }
  const running = { sql: createRunningQueries(), native: createRunningQueries() }
  return {
    routes: [...queryRoutes(engine, running), ...datasourceRoutes(database)],
    stop: async () => {
      await processes.untilIdle(queryGraceMs)
      ending.abort(unavailable('This server is stopping'))
      await processes.stop()
    },
  }
}
