import type { Metrics } from '../metrics/index.ts'
import type { TaskRunner } from './task-runner.ts'

/** Registers the metrics of a server's task slots. */
export function registerTaskRunnerMetrics(
  metrics: Metrics,
  runner: Pick<TaskRunner, 'capacity' | 'running'>,
): void {
  metrics.observe('svc_task_slots', () => {
    const used = runner.running().length
    return [
      { labels: { state: 'used' }, value: used },
      { labels: { state: 'free' }, value: Math.max(runner.capacity - used, 0) },
    ]
  })
}
