import type { RequestFailure, ServerReport } from './report.ts'
import type { ServedSegments } from './served-segments.ts'

/** The part of a report that tells what changed. */
export type ReportedChanges = Pick<
  ServerReport,
  'session' | 'from' | 'to' | 'segments' | 'changes' | 'failures'
>

// Failures that one report tells; the next one follows at once.
const failuresAtOnce = 1000

/**
 * What the leader has been told so far. Whatever happens to a report or its answer on the way, the next report begins
 * where the leader, if it is still the same, has got to for certain; one that has not asks for the whole list.
 */
export class ReportLog {
  private readonly served: ServedSegments
  private readonly failures: RequestFailure[] = []
  private told: number | undefined

  constructor(served: ServedSegments) {
    this.served = served
  }

  noteFailure(failure: RequestFailure): void {
    this.failures.push(failure)
  }

  /** Whether the next report would tell of more than that the server is there. */
  hasNews(): boolean {
    return this.told !== this.served.sequence || this.failures.length > 0
  }

  /** What the next report tells: the changes since the last one that was taken, or the whole list. */
  next(): ReportedChanges {
    const { served, told } = this
    const since = told === undefined ? undefined : served.since(told)
    return {
      session: served.session,
      from: since && told !== undefined ? told : 0,
      to: since ? since.next : served.sequence,
      segments: since ? null : [...served.ids()],
      changes: since ? [...since.changes] : [],
      failures: this.failures.slice(0, failuresAtOnce),
    }
  }

  /** The leader has taken the report; whether there is more to tell by now. */
  taken(report: ReportedChanges): boolean {
    this.told = report.to
    this.failures.splice(0, report.failures.length)
    return this.served.sequence !== report.to || this.failures.length > 0
  }

  /** The leader needs the whole list. */
  refused(): void {
    this.told = undefined
  }
}
