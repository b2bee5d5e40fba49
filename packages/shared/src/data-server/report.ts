import { z } from 'zod'

/** Where data servers report to at the leading coordinator. */
export const reportPath = '/svc-internal/v1/servers/report'

/** Largest report that is read: the whole list of a very large server. */
export const reportLimitBytes = 128 * 1024 * 1024

const count = z.int().min(0)

/** A request that a server could not carry out. */
const failureSchema = z.strictObject({
  id: z.string(),
  action: z.enum(['load', 'drop']),
  message: z.string(),
})

/** What one data server tells the leading coordinator: itself, and what changed since its last report. */
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
  /** The highest fencing number of a leader that the server knows; it takes nothing from earlier ones. */
  term: count,
  /** The number of changes up to where this report begins; 0 with the whole list. */
  from: count,
  /** The number of changes up to where it ends. */
  to: count,
  /** The whole list, where the coordinator does not know the server yet. */
  segments: z.array(z.string()).nullable(),
  changes: z.array(z.strictObject({ id: z.string(), change: z.enum(['loaded', 'dropped']) })),
  failures: z.array(failureSchema),
  /** Until when what the leader of that term has sent is void, and not at work any more; see ReportAnswer. */
  voidUntilMs: z.number().min(0),
})

/** A server of which the leader does not have the whole list yet: it follows in a later report. */
const awaitedServerSchema = z.strictObject({ name: z.string(), process: z.string(), tier: z.string() })

/** One report may speak for several servers of one process. */
export const reportSchema = z.strictObject({
  servers: z.array(serverReportSchema).max(10_000),
  /** Historicals of this process whose lists are too long for this report: the leader is not to decide without them. */
  awaited: z.array(awaitedServerSchema).max(10_000).optional(),
  /** Servers of this process that are no more, where it knows so: nobody waits for their silence. */
  gone: z.array(z.string()).max(10_000).optional(),
})

export type RequestFailure = z.infer<typeof failureSchema>
export type ServerReport = z.infer<typeof serverReportSchema>
export type AwaitedServer = z.infer<typeof awaitedServerSchema>
export type Report = z.infer<typeof reportSchema>

/** The answer: the leader's fencing number, and the servers of which it needs the whole list under that number. */
export interface ReportAnswer {
  readonly term: number
  readonly resync: readonly string[]
  /**
   * Servers that may or may not have got what was sent to them until then, in milliseconds of the leader's clock: it
   * is void, and the leader asks for it anew once the server has confirmed that.
   */
  readonly voidUntilMs: Readonly<Record<string, number>>
}
