import { describeError } from '@svc/domain/failure'
import { type CompactionPlanner, submitCompactions } from '@svc/shared/compaction'
import { type Loop, startLoop } from '@svc/shared/runtime'
import type { ServiceContext } from '@svc/shared/service'

/** Periodically submits the compact tasks of supervisors while this server is the leader. */
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
      // The term is undefined as soon as the lease expires, even before this loop is stopped.
      const mine = term()
      if (mine === undefined) return
      const did = await submitCompactions(
        context,
        planner,
        'supervisors',
        () => !isStopped && term() === mine,
      )
      if (did) logger.info('Supervisors submitted compact tasks', did)
    },
    (error) => logger.error('Failed to run supervisors', { error: describeError(error) }),
  )
  return {
    wake: loop.wake,
    stop: () => {
      isStopped = true
      return loop.stop()
    },
  }
}
