import { z } from 'zod'

/** The path on the coordinator leader to which data servers report. */
export const reportPath = '/svc-internal/v1/servers/report'

/** Max size of a report, which fits the full list of a very large server. */
export const reportLimitBytes = 128 * 1024 * 1024

const count = z.int().min(0)

/** A request that failed on a server. */
const failureSchema = z.strictObject({
  id: z.string(),
  action: z.enum(['load', 'drop']),
  message: z.string(),
})

/** Report of one data server to the coordinator leader: its properties, and the changes since its last report. */
const serverReportSchema = z.strictObject({
  name: z.string(),
  /** The process that takes its requests from the queues. */
  process: z.string(),
  type: z.enum(['historical', 'broker']),
  tier: z.string(),
  priority: z.int(),
  maxSizeBytes: count,
  usedSizeBytes: count,
  session: z.string(),
  /** The highest fencing token known to the server; it ignores requests from earlier leaders. */
  term: count,
  /** Sequence number at which this report starts; 0 with the full list. */
  from: count,
  /** Sequence number at which this report ends. */
  to: count,
  /** The full list if the coordinator does not know the server yet; otherwise null. */
  segments: z.array(z.string()).nullable(),
  changes: z.array(z.strictObject({ id: z.string(), change: z.enum(['loaded', 'dropped']) })),
  failures: z.array(failureSchema),
  /**
   * Confirms that requests sent by the leader of this term up to this time are ignored and not running; see
   * ReportAnswer.
   */
  voidUntilMs: z.number().min(0),
})

/** A server whose full list the leader does not have yet; it follows in a later report. */
const awaitedServerSchema = z.strictObject({ name: z.string(), process: z.string(), tier: z.string() })

/** A report may cover several servers of one process. */
export const reportSchema = z.strictObject({
  servers: z.array(serverReportSchema).max(10_000),
  /**
   * Historicals of this process whose lists do not fit into this report. The leader must wait for them before it
   * decides.
   */
  awaited: z.array(awaitedServerSchema).max(10_000).optional(),
  /** Servers of this process that are known to be gone, so that the leader does not wait for missed heartbeats. */
  gone: z.array(z.string()).max(10_000).optional(),
})

export type RequestFailure = z.infer<typeof failureSchema>
export type ServerReport = z.infer<typeof serverReportSchema>
export type AwaitedServer = z.infer<typeof awaitedServerSchema>
export type Report = z.infer<typeof reportSchema>

/** The response: the leader's fencing token, and the servers that must send their full list under it. */
export interface ReportAnswer {
  readonly term: number
  readonly resync: readonly string[]
  /**
   * By server name: the time (milliseconds on the leader's clock) up to which requests are revoked because the leader
   * cannot know whether they arrived. Once the server confirms this, the leader sends them again.
   */
  readonly voidUntilMs: Readonly<Record<string, number>>
}
