import type { Metrics } from '../metrics/index.ts'
import type { DutyGroup } from './duty-group.ts'

/** Registers the metrics of a server's duties. */
export function watchDuties(metrics: Metrics, groups: readonly Pick<DutyGroup, 'times'>[]): void {
  const duties = () => groups.flatMap((group) => group.times())
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
