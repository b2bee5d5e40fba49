import { describeError } from '@svc/domain/failure'
import { type CompactionPlanner, submitCompactions } from '@svc/shared/compaction-planning'
import { type Loop, startLoop } from '@svc/shared/runtime'
import type { ServiceContext } from '@svc/shared/service'

/** Submits what supervisors have to compact, again and again, while this server leads. */
export function startCompactionScheduler(
  context: ServiceContext,
  planner: CompactionPlanner,
  term: () => number | undefined,
): Loop {
  const { settings, logger } = context
  let isStopped = false
  const loop = startLoop(
    settings.get('svc.compaction.period'),
    async () => {
      // A lease that ran out shows here before it is told.
      const mine = term()
      if (mine === undefined) return
      const did = await submitCompactions(
        context,
        planner,
        'supervisors',
        () => !isStopped && term() === mine,
      )
      if (did) logger.info('Supervisors have submitted compact tasks', did)
    },
    (error) => logger.error('Supervisors could not be run', { error: describeError(error) }),
  )
  return {
    wake: loop.wake,
    stop: () => {
      isStopped = true
      return loop.stop()
    },
  }
}
