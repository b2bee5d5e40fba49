import { describeError } from '@svc/domain/failure'
import { createProblemLog, growingDelay, type Loop, startLoop } from '../runtime/index.ts'
import type { ServiceContext } from '../service/index.ts'

/**
 * How often a server reports at least, in milliseconds, as a heartbeat. Also the longest delay before the next attempt after a
 * failure.
 */
export const reportPeriodMs = 1000

/** How a process reports the segments of its servers to the coordinator leader. */
export interface Reporting {
  readonly report: () => Promise<void>
  /** How often `report` is called. */
  readonly periodMs: number
  /** Is called with the problem after each failure, and with undefined after each success. */
  readonly onProblem?: (problem: string | undefined) => void
}

/** Starts to report regularly: after growing delays if that fails, and at once if there is a new leader, which waits for it. */
export function startReporter(
  { discovery, logger, stopping }: Pick<ServiceContext, 'discovery' | 'logger' | 'stopping'>,
  { report, periodMs, onProblem = () => undefined }: Reporting,
): Loop {
  const problemLog = createProblemLog(logger)
  const delay = growingDelay(100, reportPeriodMs)
  const loop = startLoop(
    periodMs,
    async () => {
      await report()
      delay.reset()
      onProblem(undefined)
      problemLog.over('Resumed reporting to the coordinator leader')
    },
    (error) => {
      if (stopping.aborted) return
      const problem = describeError(error)
      onProblem(`Failed to report to the coordinator leader: ${problem}`)
      problemLog.report('Failed to report to the coordinator leader', { error: problem })
      return delay.next()
    },
  )
  const unwatch = discovery.onNewLeader('coordinator', loop.wake)
  return {
    wake: loop.wake,
    stop: async () => {
      unwatch()
      await loop.stop()
    },
  }
}
