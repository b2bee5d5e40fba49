import { describeError, Failure } from '@svc/domain/failure'
import type { SegmentPayload } from '@svc/domain/segment'
import { createLocalDeepStorage } from '../deep-storage/index.ts'
import { slowedBy } from '../faults/index.ts'
import {
  type RequestBatch,
  type RequestReceiver,
  receiveRequests,
  type SegmentRequest,
} from '../redis/index.ts'
import { createTroubleLog, growingDelay, type Loop, startLoop } from '../runtime/index.ts'
import { openSegmentCache, type SegmentCache } from '../segment-cache/index.ts'
import type { ServiceContext } from '../service/index.ts'
import { KnownLeader, type RequestStamp } from './known-leader.ts'
import type { Report } from './report.ts'
import { ReportLog } from './report-log.ts'
import { sendReport } from './send-report.ts'
import { ServedSegments } from './served-segments.ts'

/** A server that loads segments: a historical, or a broker with a cache for broadcast segments. */
export interface DataServer {
  readonly served: ServedSegments
  /** Returns the Parquet file of a served segment; undefined for any other. */
  fileOf(segmentId: string): string | undefined
  /** Opens the cache, starts taking requests, and resolves when the leader has accepted a report from this server. */
  start(): Promise<void>
  stop(): Promise<void>
}

// A report is sent at least this often, as a heartbeat.
const reportPeriodMs = 1000

/** Creates the part of a historical or broker that loads, serves, and drops segments as the coordinator requests. */
export function createDataServer(context: ServiceContext, type: 'historical' | 'broker'): DataServer {
  const { settings, logger, readiness, stopping } = context
  const served = new ServedSegments()
  const log = new ReportLog(served)
  const trouble = createTroubleLog(logger)
  context.metrics.observe('svc_served_segments', () => [{ value: served.size }])
  const locations = settings.get('svc.segmentCache.locations')
  const maxSizeBytes =
    locations.length === 0
      ? 0
      : settings.get('svc.server.maxSize') || sum(locations.map((location) => location.maxSizeBytes))
  let cache: SegmentCache | undefined
  let receiver: RequestReceiver | undefined
  let reporter: Loop | undefined
  const leader = new KnownLeader()
  let resolveKnown: () => void = () => undefined
  const known = new Promise<void>((resolve) => {
    resolveKnown = resolve
  })

  async function handle(batch: RequestBatch): Promise<void> {
    if (batch.session !== served.session || leader.isVoid(batch) || stopping.aborted) {
      logger.info(
        'Ignored a stale batch of requests: the leader revoked it, or the leader or this server was replaced',
        {
          term: batch.term,
        },
      )
      return
    }
    leader.noteLeader(batch.term)
    // Requests of a turbo batch run concurrently; each lane takes the next request when it is free.
    const requests = batch.requests.values()
    const lanes = batch.turbo ? settings.get('svc.segmentCache.numLoadingThreads') : 1
    await Promise.all(Array.from({ length: lanes }, () => execute(requests, batch)))
  }

  async function execute(
    requests: Iterator<SegmentRequest>,
    { term, sentAtMs }: RequestStamp,
  ): Promise<void> {
    for (let next = requests.next(); !next.done; next = requests.next()) {
      const request = next.value
      const stamp = { term, sentAtMs }
      // Check again: the leader may have changed, or revoked the request, in the meantime.
      if (leader.isVoid(stamp)) return
      const end = leader.begin(stamp)
      const id = request.action === 'load' ? request.payload.identifier : request.id
      try {
        if (request.action === 'load') await load(request.payload)
        else await drop(id)
      } catch (error) {
        if (stopping.aborted) return
        const message = error instanceof Failure ? error.message : describeError(error)
        logger.error(`Failed to ${request.action} segment`, {
          segment: id,
          error: message,
        })
        log.noteFailure({ id, action: request.action, message })
      } finally {
        end()
        reporter?.wake()
      }
    }
  }

  async function load(payload: SegmentPayload): Promise<void> {
    if (!cache)
      throw new Failure('unavailable', 'This server has no segment cache: set [svc.segmentCache.locations]')
    await cache.load(payload, stopping)
    served.add(payload.identifier)
    logger.debug('Loaded segment', { segment: payload.identifier })
  }

  async function drop(id: string): Promise<void> {
    // Stop serving first, so that new queries go elsewhere before the file is removed.
    served.remove(id)
    await cache?.drop(id)
    // A concurrent load of the same segment has ended by now, and may have added it again.
    served.remove(id)
    logger.debug('Dropped segment', { segment: id })
  }

  async function report(): Promise<void> {
    // Replicas on a server that cannot be reached must not count: without a report, the leader replaces them.
    if (!readiness.isReachable()) return
    const changes = log.next()
    const { name } = context.node()
    const body: Report = {
      servers: [
        {
          name,
          process: name,
          type,
          tier: settings.get('svc.server.tier'),
          priority: settings.get('svc.server.priority'),
          maxSizeBytes,
          usedSizeBytes: cache?.usedSizeBytes ?? 0,
          term: leader.term,
          voidUntilMs: leader.confirmedVoidUntilMs(),
          ...changes,
        },
      ],
    }
    const answer = await sendReport(context, body)
    // The leader waits for this confirmation.
    if (leader.noteLeader(answer.term, answer.voidUntilMs[name])) reporter?.wake()
    if (answer.resync.includes(name)) {
      log.refused()
      reporter?.wake()
      return
    }
    if (log.taken(changes)) reporter?.wake()
    resolveKnown()
  }

  return {
    served,
    fileOf: (id) => (served.has(id) ? cache?.fileOf(id) : undefined),
    start: async () => {
      if (locations.length > 0) {
        const deepStorage = slowedBy(
          context.faults.diskDelayMs,
          createLocalDeepStorage({ rootDirectory: settings.get('svc.storage.storageDirectory') }),
        )
        cache = await openSegmentCache({
          serverName: context.node().name,
          locations,
          maxSizeBytes,
          deepStorage,
          logger,
        })
        for (const { identifier } of cache.list()) served.add(identifier)
        logger.info('Opened segment cache', {
          segments: served.ids().length,
          damaged: cache.damaged.length,
        })
        const threads = settings.get('svc.segmentCache.numLoadingThreads')
        receiver = await receiveRequests(settings, context.node().name, threads, handle)
      } else if (type === 'historical') {
        logger.warn('This server cannot load segments: [svc.segmentCache.locations] is not set')
      }
      const delay = growingDelay(100, reportPeriodMs)
      reporter = startLoop(
        reportPeriodMs,
        async () => {
          await report()
          delay.reset()
          readiness.setTrouble('report', undefined)
          trouble.over('Reporting to the leading coordinator again')
        },
        (error) => {
          if (stopping.aborted) return
          readiness.setTrouble(
            'report',
            `Failed to report to the leading coordinator: ${describeError(error)}`,
          )
          trouble.report('Failed to report to the leading coordinator', { error: describeError(error) })
          return delay.next()
        },
      )
      await known
    },
    stop: async () => {
      await receiver?.close()
      await reporter?.stop()
    },
  }
}

const sum = (numbers: readonly number[]): number =>
  Math.min(
    numbers.reduce((total, number) => total + number, 0),
    Number.MAX_SAFE_INTEGER,
  )
