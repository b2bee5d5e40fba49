import { describeError } from '@svc/domain/failure'
import { createProblemLog, type Logger } from '../runtime/index.ts'

/** A periodic job of a leader. Each run returns what it did, for the log. */
export interface Duty {
  readonly name: string
  /** Whether it runs so often that what it did, and repeated failures, must not be logged each time. */
  readonly isFrequent?: boolean
  run(term: number): Promise<object | undefined>
  /**
   * Returns what became of the requests that a run sent to other servers. The run started and ended at these times, in
   * milliseconds of the monotonic clock of this process.
   */
  requestsOf?(startMs: number, endMs: number): RequestCounts | undefined
}

/** Requests of one run of a duty to other servers, and what has become of them so far. */
export interface RequestCounts {
  readonly decided: number
  readonly sent: number
  /** Those of the sent ones that repeat a request that a server failed. */
  readonly retried: number
  /** Requests that servers have completed. */
  readonly answered: number
  readonly failed: number
}

/** Statistics about the runs of one duty since this server started, in milliseconds. */
export interface DutyTimes {
  readonly duty: string
  readonly runs: number
  readonly failures: number
  readonly totalMs: number
  readonly lastMs: number
}

/** The result of one run of a duty. */
export interface DutyRun {
  readonly duty: string
  readonly durationMs: number
  /** What the run did; null if there was nothing to do or if it failed. */
  readonly did: object | null
  readonly error: string | null
}

/** A duty with the statistics about its runs. */
export interface WatchedDuty {
  readonly name: string
  run(term: number): Promise<DutyRun>
  times(): DutyTimes
  readonly requestsOf: Duty['requestsOf']
}

/** Adds logs and statistics to a duty. A failed run is logged and counted; its promise resolves. */
export function watchDuty(duty: Duty, logger: Logger): WatchedDuty {
  const { name } = duty
  const problemLog = createProblemLog(logger)
  let times: DutyTimes = { duty: name, runs: 0, failures: 0, totalMs: 0, lastMs: 0 }

  const attempt = async (term: number): Promise<Pick<DutyRun, 'did' | 'error'>> => {
    try {
      const did = await duty.run(term)
      if (did && !duty.isFrequent) logger.info('Duty completed', { duty: name, ...did })
      problemLog.over('Duty recovered')
      return { did: did ?? null, error: null }
    } catch (error) {
      times = { ...times, failures: times.failures + 1 }
      const details = {
        duty: name,
        error: describeError(error),
        // The cause is only logged, for the operator who must fix the problem. Clients do not see it.
        ...(error instanceof Error && error.cause !== undefined ? { cause: describeError(error.cause) } : {}),
        failures: times.failures,
      }
      if (duty.isFrequent) problemLog.report('Duty failed', details)
      else logger.error('Duty failed', details)
      return { did: null, error: details.error }
    }
  }

  return {
    name,
    times: () => times,
    requestsOf: duty.requestsOf?.bind(duty),
    run: async (term) => {
      const startedAt = performance.now()
      const outcome = await attempt(term)
      const lastMs = performance.now() - startedAt
      times = { ...times, runs: times.runs + 1, totalMs: times.totalMs + lastMs, lastMs }
      return { duty: name, durationMs: Math.round(lastMs), ...outcome }
    },
  }
}
