import { describeError, Failure } from '@svc/domain/failure'
import type { SegmentPayload } from '@svc/domain/segment'
import { createConcurrencyLimit } from '../concurrency-limit/index.ts'
import type { RequestBatch, SegmentRequest } from '../redis/index.ts'
import type { SegmentCache } from '../segment-cache/index.ts'
import type { ServiceContext } from '../service/index.ts'
import type { KnownLeader, RequestStamp } from './known-leader.ts'
import type { ReportLog } from './report-log.ts'
import type { ServedSegments } from './served-segments.ts'

/** What executing requests changes. */
export interface ExecutionTarget {
  readonly served: ServedSegments
  readonly cache: Pick<SegmentCache, 'load' | 'drop'>
  readonly log: ReportLog
  readonly leader: KnownLeader
  /** Is called after each request. */
  onExecuted(): void
}

/**
 * Returns a function that executes the load and drop requests of a batch. It ignores stale and revoked requests. All batches
 * share one limit, so that loads take the same time however they are divided into batches. The limit of turbo batches is twice
 * as high.
 */
export function createRequestExecutor(
  { served, cache, log, leader, onExecuted }: ExecutionTarget,
  { settings, logger, stopping }: Pick<ServiceContext, 'settings' | 'logger' | 'stopping'>,
): (batch: RequestBatch) => Promise<void> {
  async function execute(request: SegmentRequest): Promise<void> {
    const { id } = request
    if (request.action === 'load') {
      await cache.load(JSON.parse(request.payload) as SegmentPayload, stopping)
      served.add(id)
      logger.debug('Loaded segment', { segment: id })
      return
    }
    // Stop serving first, so that new queries go elsewhere before the file is removed.
    served.remove(id)
    await cache.drop(id)
    // A concurrent load of the same segment has ended by now, and may have added it again.
    served.remove(id)
    logger.debug('Dropped segment', { segment: id })
  }

  function noteFailure({ action, id }: SegmentRequest, error: unknown): void {
    const message = error instanceof Failure ? error.message : describeError(error)
    logger.error(`Failed to ${action} segment`, { segment: id, error: message })
    log.noteFailure({ id, action, message })
  }

  async function executeOne(request: SegmentRequest, stamp: RequestStamp): Promise<void> {
    // Check again: the leader may have changed, or revoked the request, in the meantime.
    if (leader.isVoid(stamp)) return
    // A copy, because requests that run concurrently end one by one.
    const end = leader.begin({ ...stamp })
    try {
      await execute(request)
    } catch (error) {
      if (!stopping.aborted) noteFailure(request, error)
    } finally {
      end()
      onExecuted()
    }
  }

  const threads = settings.get('svc.segmentCache.numLoadingThreads')
  const [limit, turboLimit] = [createConcurrencyLimit(threads), createConcurrencyLimit(2 * threads)]

  return async (batch) => {
    const { session, term, sentAtMs, turbo } = batch
    if (session !== served.session || leader.isVoid(batch) || stopping.aborted) {
      logger.info(
        'Ignored a stale batch of requests: it was revoked, sent by an earlier leader, or meant for an earlier session of this server',
        { term },
      )
      return
    }
    leader.noteLeader(term)
    const limited = turbo ? turboLimit : limit
    const stamp = { term, sentAtMs }
    await Promise.all(batch.requests.map((request) => limited(() => executeOne(request, stamp))))
  }
}
