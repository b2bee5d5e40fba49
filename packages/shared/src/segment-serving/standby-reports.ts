import { describeError } from '@svc/domain/failure'
import { createProblemLog, growingDelay, type Loop, startLoop } from '../runtime/index.ts'
import type { ServiceContext } from '../service/index.ts'
import type { ServerReport } from './report.ts'
import { type ReportedChanges, ReportLog } from './report-log.ts'
import { sendStandbyReport } from './send-report.ts'
import type { ServedList } from './served-segments.ts'

/** The reports of one process to one coordinator that is not the leader. */
export interface StandbyReports {
  /** Returns the reports to send now. */
  due(): readonly ServerReport[]
  /** Records that the coordinator accepted these reports, except those of servers that must send their full list. */
  answered(reports: readonly ServerReport[], resync: ReadonlySet<string>): void
}

type Context = Pick<ServiceContext, 'client' | 'discovery' | 'logger' | 'stopping'>

/** How often to look for changes and for coordinators. */
const periodMs = 1000

/** A coordinator forgets servers that do not report, so unchanged servers report after this time. */
const heartbeatMs = 10_000

// A coordinator of an earlier version has no endpoint for these reports, and a full list is large.
const maxRetryMs = 60_000

/**
 * How long a server and a standby remember what one reported to the other, so that after a short interruption only changes are
 * sent. Reports to a standby are rare as long as nothing changes.
 */
export const standbyKeptMs = 60_000

/** What has been reported about one server to one coordinator that is not the leader. Failures are reported only to the leader. */
export class StandbyLog {
  private readonly log: ReportLog
  private takenAtMs = Number.NEGATIVE_INFINITY

  constructor(served: ServedList) {
    this.log = new ReportLog(served)
  }

  /** Whether the coordinator needs the full list, changes, or a heartbeat. */
  isDue(): boolean {
    return performance.now() - this.takenAtMs >= (this.log.hasNews() ? periodMs : heartbeatMs)
  }

  next(): ReportedChanges {
    return this.log.next()
  }

  /** Records that the coordinator accepted the report, or that it needs the full list. */
  answered(report: ReportedChanges, needsList: boolean): void {
    if (needsList) this.log.refused()
    else this.log.taken(report)
    this.takenAtMs = needsList ? Number.NEGATIVE_INFINITY : performance.now()
  }
}

/** Creates the reports of a process that is one server. `reportOf` returns its report with these changes. */
export function createOwnStandbyReports(
  served: ServedList,
  reportOf: (changes: ReportedChanges) => ServerReport,
): StandbyReports {
  const log = new StandbyLog(served)
  return {
    due: () => (log.isDue() ? [reportOf(log.next())] : []),
    answered: (reports, resync) => {
      for (const report of reports) log.answered(report, resync.has(report.name))
    },
  }
}

/**
 * Reports to all coordinators except the leader, so that each can become the leader without reading complete lists. Each
 * coordinator gets its own reports: none waits for another, and the reports to the leader wait for none of them.
 */
export function startStandbyReports(context: Context, create: () => StandbyReports): Loop {
  const receivers = new Map<string, Receiver>()
  const loop = startLoop(
    periodMs,
    async () => {
      const nowMs = performance.now()
      for (const baseUrl of standbysOf(context.discovery)) {
        const receiver = receivers.get(baseUrl) ?? createReceiver(context, baseUrl, create())
        receivers.set(baseUrl, receiver)
        receiver.lastSeenAtMs = nowMs
        receiver.send()
      }
      for (const [baseUrl, { lastSeenAtMs }] of receivers)
        if (nowMs - lastSeenAtMs > standbyKeptMs) receivers.delete(baseUrl)
    },
    () => undefined,
  )
  return {
    wake: loop.wake,
    stop: async () => {
      await loop.stop()
      await Promise.all([...receivers.values()].map((receiver) => receiver.idle()))
    },
  }
}

/** A coordinator that gets reports, one after another. */
interface Receiver {
  lastSeenAtMs: number
  /** Sends what is due, unless a report is in progress or the last one failed recently. */
  send(): void
  /** Resolves when no report is in progress. */
  idle(): Promise<void>
}

function createReceiver(context: Context, baseUrl: string, reports: StandbyReports): Receiver {
  const problemLog = createProblemLog(context.logger)
  const retryDelay = growingDelay(periodMs, maxRetryMs)
  let retryAtMs = Number.NEGATIVE_INFINITY
  let sending: Promise<void> | undefined
  const send = async (): Promise<void> => {
    try {
      await sendAll(context, baseUrl, reports)
      retryDelay.reset()
      problemLog.over('Resumed reporting to a standby coordinator')
    } catch (error) {
      retryAtMs = performance.now() + retryDelay.next()
      if (!context.stopping.aborted)
        problemLog.report('Failed to report to a standby coordinator', {
          baseUrl,
          error: describeError(error),
        })
    } finally {
      sending = undefined
    }
  }
  return {
    lastSeenAtMs: 0,
    send: () => {
      if (performance.now() >= retryAtMs) sending ??= send()
    },
    idle: async () => sending,
  }
}

function standbysOf(discovery: ServiceContext['discovery']): ReadonlySet<string> {
  const leader = discovery.hasLeader('coordinator') ? discovery.leader('coordinator').baseUrl : undefined
  const all = discovery.nodes('coordinator').map(({ baseUrl }) => baseUrl)
  return new Set(all.filter((baseUrl) => baseUrl !== leader))
}

async function sendAll(context: Context, baseUrl: string, reports: StandbyReports): Promise<void> {
  for (let due = reports.due(); due.length > 0 && !context.stopping.aborted; due = reports.due()) {
    const { resync } = await sendStandbyReport(context, baseUrl, due)
    reports.answered(due, new Set(resync))
  }
}
