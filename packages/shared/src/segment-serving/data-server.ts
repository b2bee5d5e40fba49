import { deepStorageConfig, openDeepStorage } from '../deep-storage/index.ts'
import { slowedBy } from '../faults/index.ts'
import { type RequestReceiver, receiveRequests } from '../redis/index.ts'
import type { Loop } from '../runtime/index.ts'
import { openSegmentCache, type SegmentCache } from '../segment-cache/index.ts'
import type { ServiceContext } from '../service/index.ts'
import { createRequestExecutor } from './execute-requests.ts'
import { KnownLeader } from './known-leader.ts'
import type { ServerReport } from './report.ts'
import { type ReportedChanges, ReportLog } from './report-log.ts'
import { sendReport } from './send-report.ts'
import { ServedSegments } from './served-segments.ts'
import { createOwnStandbyReports, startStandbyReports } from './standby-reports.ts'
import { reportPeriodMs, startReporter } from './start-reporter.ts'

/** A server that loads segments: a historical, or a broker with a cache for broadcast segments. */
export interface DataServer {
  readonly served: ServedSegments
  /** Returns the Parquet file of a served segment; undefined for any other. */
  fileOf(segmentId: string): string | undefined
  /** Opens the cache, starts taking requests, and resolves when the leader has accepted a report from this server. */
  start(): Promise<void>
  stop(): Promise<void>
}

type Context = Pick<
  ServiceContext,
  'client' | 'discovery' | 'faults' | 'logger' | 'metrics' | 'node' | 'readiness' | 'settings' | 'stopping'
>

/** Creates the part of a historical or broker that loads, serves, and drops segments as the coordinator requests. */
export function createDataServer(context: Context, type: 'historical' | 'broker'): DataServer {
  const { settings, logger, readiness } = context
  const served = new ServedSegments()
  const log = new ReportLog(served)
  const leader = new KnownLeader()
  context.metrics.observe('svc_served_segments', () => [{ value: served.size }])
  const maxSizeBytes = maxServedBytes(settings)
  let cache: SegmentCache | undefined
  let receiver: RequestReceiver | undefined
  let reporter: Loop | undefined
  let standbyReporter: Loop | undefined
  const known = Promise.withResolvers<void>()

  const reportOf = (changes: ReportedChanges): ServerReport =>
    ownReport(context, { type, maxSizeBytes, usedSizeBytes: cache?.usedSizeBytes ?? 0, leader, changes })

  async function report(): Promise<void> {
    // Replicas on a server that cannot be reached must not count: without a report, the leader replaces them.
    if (!readiness.isReachable()) return
    const changes = log.next()
    const own = reportOf(changes)
    const answer = await sendReport(context, { servers: [own] })
    // The leader waits for this confirmation.
    if (leader.noteLeader(answer.term, answer.voidUntilMs[own.name])) reporter?.wake()
    if (answer.resync.includes(own.name)) {
      log.refused(answer.resyncFrom?.[own.name])
      reporter?.wake()
      return
    }
    if (log.taken(changes)) reporter?.wake()
    known.resolve()
  }

  return {
    served,
    fileOf: (id) => (served.has(id) ? cache?.fileOf(id) : undefined),
    start: async () => {
      if (settings.get('svc.segmentCache.locations').length > 0) {
        cache = await openCache(context, maxSizeBytes)
        for (const { identifier } of cache.list()) served.add(identifier)
        logger.info('Opened segment cache', { segments: served.size, damaged: cache.damaged.length })
        const onExecuted = (): void => reporter?.wake()
        const execute = createRequestExecutor({ served, cache, log, leader, onExecuted }, context)
        const threads = settings.get('svc.segmentCache.numLoadingThreads')
        receiver = await receiveRequests(settings, context.node().name, threads, execute)
      } else if (type === 'historical') {
        logger.warn('This server cannot load segments: [svc.segmentCache.locations] is not set')
      }
      reporter = startReporter(context, {
        report,
        periodMs: reportPeriodMs,
        onProblem: (problem) => readiness.setProblem('report', problem),
      })
      standbyReporter = startStandbyReports(context, () => createOwnStandbyReports(served, reportOf))
      await known.promise
    },
    stop: async () => {
      await receiver?.close()
      await reporter?.stop()
      await standbyReporter?.stop()
    },
  }
}

/** Returns the max size of the segments that the coordinator may assign to this server. */
function maxServedBytes(settings: ServiceContext['settings']): number {
  const locations = settings.get('svc.segmentCache.locations')
  if (locations.length === 0) return 0
  const totalBytes = locations.reduce((total, { maxSizeBytes }) => total + maxSizeBytes, 0)
  return settings.get('svc.server.maxSize') || Math.min(totalBytes, Number.MAX_SAFE_INTEGER)
}

function openCache(
  { settings, faults, logger, node }: Pick<ServiceContext, 'settings' | 'faults' | 'logger' | 'node'>,
  maxSizeBytes: number,
): Promise<SegmentCache> {
  return openSegmentCache({
    serverName: node().name,
    locations: settings.get('svc.segmentCache.locations'),
    maxSizeBytes,
    deepStorage: slowedBy(faults.diskDelayMs, openDeepStorage(deepStorageConfig(settings))),
    logger,
  })
}

/** Returns the report of this server with the given changes. */
function ownReport(
  { settings, node }: Pick<ServiceContext, 'settings' | 'node'>,
  {
    leader,
    changes,
    ...sizes
  }: Pick<ServerReport, 'type' | 'maxSizeBytes' | 'usedSizeBytes'> & {
    readonly leader: KnownLeader
    readonly changes: ReportedChanges
  },
): ServerReport {
  const { name } = node()
  return {
    name,
    process: name,
    tier: settings.get('svc.server.tier'),
    priority: settings.get('svc.server.priority'),
    ...sizes,
    term: leader.term,
    voidUntilMs: leader.confirmedVoidUntilMs(),
    ...changes,
  }
}
