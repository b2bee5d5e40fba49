import type { Metrics } from '@svc/shared/metrics'
import type { DutyGroup } from './duties/index.ts'
import type { Leadership } from './leadership.ts'

/** What a coordinator lets be watched of itself. */
export interface WatchedCoordinator {
  readonly leadership: Leadership
  readonly dutyGroups: readonly DutyGroup[]
}

/** Names where the metrics of a coordinator are read. */
export function watchCoordinator(metrics: Metrics, { leadership, dutyGroups }: WatchedCoordinator): void {
  const duties = () => dutyGroups.flatMap((group) => group.times())
  metrics.observe('svc_leader', () => [{ value: leadership.term() === undefined ? 0 : 1 }])
  metrics.observe('svc_duty_runs_total', () =>
    duties().map(({ duty, runs }) => ({ labels: { duty }, value: runs })),
  )
  metrics.observe('svc_duty_failures_total', () =>
    duties().map(({ duty, failures }) => ({ labels: { duty }, value: failures })),
  )
  metrics.observe('svc_duty_run_seconds_total', () =>
    duties().map(({ duty, totalMs }) => ({ labels: { duty }, value: totalMs / 1000 })),
  )
  metrics.observe('svc_duty_last_run_seconds', () =>
    duties().map(({ duty, lastMs }) => ({ labels: { duty }, value: lastMs / 1000 })),
  )
}
