import { describeError } from '@svc/domain/failure'
import { createProblemLog, type Logger, type Loop, startLoop } from '../runtime/index.ts'
import type { CompactionDriver, CompactionPlanner } from './planner.ts'

/**
 * Plans what `driver` compacts while another server is the leader, and discards the plan: what the planner has read and
 * found until then, it does not have to read and find again when this server becomes the leader.
 */
export function followCompaction(
  planner: Pick<CompactionPlanner, 'driver' | 'plan'>,
  driver: CompactionDriver,
  isLeader: () => boolean,
  { periodMs, logger }: { readonly periodMs: number; readonly logger: Logger },
): Loop {
  const problem = createProblemLog(logger)
  return startLoop(
    periodMs,
    async () => {
      if (isLeader() || (await planner.driver()) !== driver) return
      await planner.plan(driver)
      problem.over('Resumed reading what to compact as a standby')
    },
    (error) => problem.report('Failed to read what to compact as a standby', { error: describeError(error) }),
  )
}
