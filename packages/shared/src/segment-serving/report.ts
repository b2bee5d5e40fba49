import {
  nullable,
  omittable,
  readCount,
  readFields,
  readList,
  readNumber,
  readOneOf,
  readText,
  readWhole,
} from '@svc/domain/validation'

/** The path on the coordinator leader to which data servers report. */
export const reportPath = '/svc-internal/v1/servers/report'

/** The path on the other coordinators, which follow what data servers serve so that one of them can take over within seconds. */
export const standbyReportPath = '/svc-internal/v1/servers/standbyReport'

/** Max size of a report, which fits the full list of a very large server. */
export const reportLimitBytes = 128 * 1024 * 1024

// The bytes of a report limit its lists.
const maxSegments = reportLimitBytes

const count = readCount(0)

/** Reads a request that failed on a server. */
const readFailure = readFields({
  id: readText,
  action: readOneOf(['load', 'drop']),
  message: readText,
})

/** Reads the report of one data server to the coordinator leader: its properties, and the changes since its last report. */
const readServerReport = readFields({
  name: readText,
  /** The process that takes its requests from the queues. */
  process: readText,
  type: readOneOf(['historical', 'broker']),
  tier: readText,
  priority: readWhole,
  maxSizeBytes: count,
  usedSizeBytes: count,
  session: readText,
  /** The highest fencing token known to the server; it ignores requests from earlier leaders. */
  term: count,
  /** Sequence number at which this report starts; 0 with the full list. */
  from: count,
  /** Sequence number at which this report ends. */
  to: count,
  /** The full list if the coordinator does not know the server yet; otherwise null. */
  segments: nullable(readList(readText, { max: maxSegments })),
  changes: readList(readFields({ id: readText, change: readOneOf(['loaded', 'dropped']) }), {
    max: maxSegments,
  }),
  failures: readList(readFailure, { max: maxSegments }),
  /**
   * Confirms that requests sent by the leader of this term up to this time are ignored and not running; see
   * ReportAnswer.
   */
  voidUntilMs: readNumber(0, Number.MAX_SAFE_INTEGER),
})

/** Reads a server whose full list the leader does not have yet; it follows in a later report. */
const readAwaitedServer = readFields({ name: readText, process: readText, tier: readText })

/** Reads a report, which may cover several servers of one process. */
export const readReport = readFields({
  servers: readList(readServerReport),
  /**
   * Historicals of this process whose lists do not fit into this report. The leader must wait for them before it
   * decides.
   */
  awaited: omittable(readList(readAwaitedServer), []),
  /** Servers of this process that are known to be gone, so that the leader does not wait for missed heartbeats. */
  gone: omittable(readList(readText), []),
})

export type RequestFailure = ReturnType<typeof readFailure>
export type ServerReport = ReturnType<typeof readServerReport>
export type AwaitedServer = ReturnType<typeof readAwaitedServer>
export type Report = ReturnType<typeof readReport>

/** The response of a coordinator that is not the leader: the servers that must send it their full list. */
export type StandbyReportAnswer = Pick<ReportAnswer, 'resync'>

/** The response: the leader's fencing token, and the servers that must send their full list under it. */
export interface ReportAnswer {
  readonly term: number
  readonly resync: readonly string[]
  /** By server name: the sequence number up to which the coordinator knows the list. These servers need to send only later changes. */
  readonly resyncFrom?: Readonly<Record<string, number>>
  /**
   * By server name: the time (milliseconds on the leader's clock) up to which requests are revoked because the leader
   * cannot know whether they arrived. Once the server confirms this, the leader sends them again.
   */
  readonly voidUntilMs: Readonly<Record<string, number>>
}
