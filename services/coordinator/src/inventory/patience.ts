// A new leader gives the servers this long to report before it decides without them: otherwise it would take all
// that the slow ones hold for missing. While some of them report, the others, behind them in line, have as long again.
const patienceMs = 8000

/** How long a new leader waits for the servers of its cluster; times are those of the process's own clock. */
export class Patience {
  private fewest = 0
  private untilMs = Number.NEGATIVE_INFINITY

  /** The wait begins. */
  restart(nowMs: number): void {
    this.fewest = Number.POSITIVE_INFINITY
    this.untilMs = nowMs + patienceMs
  }

  /** Whether to wait while so many servers have not reported. Once its time has passed, the wait is over for good. */
  waitsFor(awaited: number, nowMs: number): boolean {
    if (nowMs >= this.untilMs) return false
    if (awaited < this.fewest) this.untilMs = nowMs + patienceMs
    this.fewest = Math.min(this.fewest, awaited)
    return awaited > 0
  }
}
