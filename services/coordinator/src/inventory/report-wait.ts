// A new leader gives servers this long to report before it decides without them. Otherwise, all replicas on slow servers
// would look missing. Each server that reports gives the remaining ones the full time again.
const reportWaitMs = 8000

/** Decides how long a new leader waits for the servers of its cluster. Times are from the monotonic clock of this process. */
export class ReportWait {
  private fewest = 0
  private untilMs = Number.NEGATIVE_INFINITY

  /** Starts the wait. */
  restart(nowMs: number): void {
    this.fewest = Number.POSITIVE_INFINITY
    this.untilMs = nowMs + reportWaitMs
  }

  /** Returns whether to keep waiting for `awaited` servers. Once the time is up, it returns false until the next restart. */
  waitsFor(awaited: number, nowMs: number): boolean {
    if (nowMs >= this.untilMs) return false
    if (awaited < this.fewest) this.untilMs = nowMs + reportWaitMs
    this.fewest = Math.min(this.fewest, awaited)
    return awaited > 0
  }
}
