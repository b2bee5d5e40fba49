import type { VirtualServerGroup } from '@svc/shared/config'
import type { SegmentRequest } from '@svc/shared/redis'
import { KnownLeader, ReportLog, type RequestStamp } from '@svc/shared/segment-serving'
import { NumberedSegments } from './numbered-segments.ts'
import type { SegmentNumbers } from './segment-numbers.ts'

/**
 * A load or drop request in the queue of a virtual server, without the payload of the segment: half a million requests can
 * be in the queues of a thousand servers.
 */
export interface QueuedRequest {
  readonly action: SegmentRequest['action']
  /** The number of the segment, which the queue keeps. */
  readonly segment: number
  readonly stamp: RequestStamp
  /** When the request arrives, if a fault delays requests. */
  readonly comesAtMs: number
}

/** A virtual server with its own queue, inventory, and lifetime. */
export interface VirtualServer {
  readonly name: string
  readonly group: VirtualServerGroup
  readonly served: NumberedSegments
  readonly log: ReportLog
  readonly queue: QueuedRequest[]
  usedSizeBytes: number
  /** When the request at the head of the queue is done, as a `performance.now()` time. */
  headDoneAtMs: number
  readonly leader: KnownLeader
  lastReportAtMs: number
  /** Whether the leader has its complete list of segments. */
  isKnown: boolean
  /** When it restarts after a fault killed it, or 0 while it is running. */
  livesAgainAtMs: number
  /** Whether a fault blocked its last report to the leader. */
  isCut: boolean
}

/** Creates a server without segments. */
export function createVirtualServer(
  name: string,
  group: VirtualServerGroup,
  numbers: SegmentNumbers,
): VirtualServer {
  const served = new NumberedSegments(numbers)
  return {
    name,
    group,
    served,
    log: new ReportLog(served),
    queue: [],
    usedSizeBytes: 0,
    headDoneAtMs: 0,
    leader: new KnownLeader(),
    lastReportAtMs: 0,
    isKnown: false,
    livesAgainAtMs: 0,
    isCut: false,
  }
}

/** Whether a fault hides the server from the leader and from servers that follow this process. */
export const isHidden = ({ livesAgainAtMs, isCut }: VirtualServer): boolean => livesAgainAtMs > 0 || isCut
