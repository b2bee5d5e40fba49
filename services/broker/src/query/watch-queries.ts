import type { Metrics } from '@svc/shared/metrics'
import type { QueryProcesses } from '../query-processes/index.ts'

/** Reports the queries of this broker by lane and state. */
export function watchQueries(metrics: Metrics, processes: QueryProcesses): void {
  metrics.observe('svc_queries', () =>
    (['waiting', 'running', 'suspended'] as const).flatMap((state) =>
      (['short', 'long'] as const).map((lane) => ({
        labels: { lane, state },
        value: processes.count(state, lane),
      })),
    ),
  )
}
