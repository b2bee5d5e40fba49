import type { Metrics } from '../metrics/index.ts'
import type { Readiness } from '../runtime/index.ts'
import { certificateEnds, type FollowedStores } from '../tls/index.ts'

/** Registers the metrics of every server. */
export function registerServerMetrics(metrics: Metrics, readiness: Readiness, stores: FollowedStores): void {
  // Start at 0. Otherwise a scraper would take the first refused connection for the initial value of the counter.
  for (const limit of ['address', 'total']) metrics.count('svc_connections_refused_total', { limit }, 0)
  metrics.observe('svc_ready', () => [{ value: readiness.isReady() && readiness.problems() === '' ? 1 : 0 }])
  metrics.observe('svc_tls_certificate_expiry_seconds', () =>
    Object.entries(certificateEnds(stores.current())).map(([certificate, end]: [string, number]) => ({
      labels: { certificate },
      value: (end - Date.now()) / 1000,
    })),
  )
}
