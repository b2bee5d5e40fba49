import { type DutyGroup, watchDuties } from '@svc/shared/duties'
import type { Metrics } from '@svc/shared/metrics'
import { countTasks, type Database } from '@svc/shared/postgres'
import { type TaskRunner, watchTaskRunner } from '@svc/shared/task-running'

/** What the metrics of an overlord are read from. */
export interface WatchedOverlord {
  readonly database: Database
  readonly runner: TaskRunner
  readonly dutyGroups: readonly DutyGroup[]
  /** Returns the fencing number while this overlord is the leader, or undefined. */
  term(): number | undefined
}

/** Registers the metrics of an overlord. Only the leader reports the tasks of the cluster. */
export function watchOverlord(
  metrics: Metrics,
  { database, runner, dutyGroups, term }: WatchedOverlord,
): void {
  metrics.observe('svc_leader', () => [{ value: term() === undefined ? 0 : 1 }])
  watchDuties(metrics, dutyGroups)
  watchTaskRunner(metrics, runner)
  metrics.observe('svc_tasks', async () => {
    if (term() === undefined) return []
    const counts = await countTasks(database)
    return counts.map(({ type, state, count }) => ({
      labels: { type, state: state.toLowerCase() },
      value: count,
    }))
  })
}
