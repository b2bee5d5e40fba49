import { type RequestCounts, rememberedRuns } from '@svc/shared/duties'

type MutableCounts = { -readonly [Name in keyof RequestCounts]: number }

/**
 * What became of the load and drop requests of the last runs. Servers answer after the run, so a request is matched with its
 * run by the time at which it was sent. All times are in milliseconds of the monotonic clock of this process.
 */
export class RequestJournal {
  private readonly runs: { readonly startMs: number; readonly counts: MutableCounts }[] = []

  /** Starts a run. The requests that follow are its requests. */
  begin(startMs: number): void {
    // Runs without requests must not push out others.
    const last = this.runs.at(-1)
    if (last && Object.values(last.counts).every((count) => count === 0)) this.runs.pop()
    this.runs.push({ startMs, counts: { decided: 0, sent: 0, retried: 0, answered: 0, failed: 0 } })
    if (this.runs.length > rememberedRuns) this.runs.shift()
  }

  noteDecided(requests: number): void {
    const run = this.runs.at(-1)
    if (run) run.counts.decided += requests
  }

  /** Notes requests that were sent, of which `retried` repeat failed ones. */
  noteSent(requests: number, retried: number): void {
    const run = this.runs.at(-1)
    if (!run) return
    run.counts.sent += requests
    run.counts.retried += retried
  }

  /** Notes that a server has completed or failed a request. */
  noteAnswer(sentAtMs: number, isFailed: boolean): void {
    const run = this.runs.findLast(({ startMs }) => startMs <= sentAtMs)
    if (run) run.counts[isFailed ? 'failed' : 'answered'] += 1
  }

  /** Returns the counts of the run that started between two times; undefined if there is none, or if it decided nothing. */
  between(fromMs: number, toMs: number): RequestCounts | undefined {
    const run = this.runs.find(({ startMs }) => startMs >= fromMs && startMs <= toMs)
    return run && run.counts.decided > 0 ? { ...run.counts } : undefined
  }
}
