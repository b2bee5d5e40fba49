import { type Loop, startLoop } from '../runtime/index.ts'
import type { ServiceContext } from '../service/index.ts'
import type { ServerReport } from './report.ts'
import { type ReportedChanges, ReportLog } from './report-log.ts'
import { sendStandbyReport } from './send-report.ts'
import type { ServedSegments } from './served-segments.ts'

/** The reports of one process to one coordinator that is not the leader. */
export interface StandbyReports {
  /** Returns the reports to send now. */
  due(): readonly ServerReport[]
  /** Records that the coordinator took these reports, except those of servers that must send their full list. */
  answered(reports: readonly ServerReport[], resync: ReadonlySet<string>): void
}

type Context = Pick<ServiceContext, 'client' | 'discovery' | 'stopping'>

/** How often to look for changes and for coordinators. */
const periodMs = 1000

/** A coordinator forgets servers that do not report, so unchanged servers report after this time. */
const heartbeatMs = 10_000

/** What has been reported about one server to one coordinator that is not the leader. Failures are only for the leader. */
export class StandbyLog {
  private readonly log: ReportLog
  private takenAtMs = Number.NEGATIVE_INFINITY

  constructor(served: ServedSegments) {
    this.log = new ReportLog(served)
  }

  /** Whether the coordinator needs the full list, changes of the last second, or a sign of life. */
  isDue(): boolean {
    return performance.now() - this.takenAtMs >= (this.log.hasNews() ? periodMs : heartbeatMs)
  }

  next(): ReportedChanges {
    return this.log.next()
  }

  /** Records that the coordinator took the report, or that it needs the full list. */
  answered(report: ReportedChanges, needsList: boolean): void {
    if (needsList) this.log.refused()
    else this.log.taken(report)
    this.takenAtMs = needsList ? Number.NEGATIVE_INFINITY : performance.now()
  }
}

/** Creates the reports of a process that is one server. `reportOf` returns its report with these changes. */
export function createOwnStandbyReports(
  served: ServedSegments,
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
  const reportsTo = new Map<string, StandbyReports>()
  const sending = new Map<string, Promise<void>>()
  const loop = startLoop(
    periodMs,
    async () => {
      const standbys = standbysOf(context.discovery)
      for (const baseUrl of reportsTo.keys()) if (!standbys.has(baseUrl)) reportsTo.delete(baseUrl)
      for (const baseUrl of standbys) {
        if (sending.has(baseUrl)) continue
        const reports = reportsTo.get(baseUrl) ?? create()
        reportsTo.set(baseUrl, reports)
        // A coordinator that is unavailable gets the same reports again.
        const sent = sendAll(context, baseUrl, reports)
          .catch(() => undefined)
          .finally(() => sending.delete(baseUrl))
        sending.set(baseUrl, sent)
      }
    },
    () => undefined,
  )
  return {
    wake: loop.wake,
    stop: async () => {
      await loop.stop()
      await Promise.all(sending.values())
    },
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
