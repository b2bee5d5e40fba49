import type { RequestFailure, ServerReport } from './report.ts'
import type { ServedList } from './served-segments.ts'

/** The part of a report with the changes. */
export type ReportedChanges = Pick<
  ServerReport,
  'session' | 'from' | 'to' | 'segments' | 'changes' | 'failures'
>

// Max failures per report; the next report follows immediately.
const failuresAtOnce = 1000

/**
 * What has been reported to the leader. Even if a report or its response is lost, the next report starts from the last
 * one that the leader is known to have accepted. A leader with a different state requests the full list.
 */
export class ReportLog {
  private readonly served: ServedList
  private readonly failures: RequestFailure[] = []
  private reportedUpTo: number | undefined

  constructor(served: ServedList) {
    this.served = served
  }

  noteFailure(failure: RequestFailure): void {
    this.failures.push(failure)
  }

  /** Whether the next report would be more than a heartbeat. */
  hasNews(): boolean {
    return this.reportedUpTo !== this.served.sequence || this.failures.length > 0
  }

  /** Returns the content of the next report: the changes since the last accepted one, or the full list. */
  next(): ReportedChanges {
    const { served, reportedUpTo } = this
    const since = reportedUpTo === undefined ? undefined : served.since(reportedUpTo)
    return {
      session: served.session,
      from: since && reportedUpTo !== undefined ? reportedUpTo : 0,
      to: since ? since.next : served.sequence,
      segments: since ? null : served.ids(),
      changes: since?.changes ?? [],
      failures: this.failures.slice(0, failuresAtOnce),
    }
  }

  /** Records that the leader accepted the report. Returns whether there is more to report now. */
  taken(report: ReportedChanges): boolean {
    this.reportedUpTo = report.to
    this.failures.splice(0, report.failures.length)
    return this.served.sequence !== report.to || this.failures.length > 0
  }

  /** Records that the leader knows the changes up to this number, or that it needs the full list. */
  refused(knownUpTo?: number): void {
    this.reportedUpTo = knownUpTo
  }
}
