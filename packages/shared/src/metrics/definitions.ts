/** The definition of a metric. */
export interface MetricDefinition {
  readonly kind: 'counter' | 'gauge'
  readonly about: string
  readonly labels: readonly string[]
  /** The roles whose servers report it. */
  readonly roles: string
  /** How values with the same labels are combined: they are added up by default. */
  readonly together?: 'largest'
}

/**
 * Labels with user-defined values, and the maximum number of values that get their own series. All other labels have a
 * few fixed values. No label contains the name of a server or a caller.
 */
export const maxNamedValues = { datasource: 100, tier: 20 } as const

/** A label with a maximum number of values. */
export type BoundedLabel = keyof typeof maxNamedValues

const counter = (about: string, labels: readonly string[], roles: string): MetricDefinition => ({
  kind: 'counter',
  about,
  labels,
  roles,
})
const gauge = (about: string, labels: readonly string[], roles: string): MetricDefinition => ({
  kind: 'gauge',
  about,
  labels,
  roles,
})

/** All metrics by name. */
export const metricDefinitions = {
  svc_ready: gauge('1 if the server is ready and reports no problems', [], 'all'),
  svc_leader: gauge('1 if this server is the leader for its role', [], 'coordinator, overlord'),
  svc_http_requests_total: counter('HTTP requests served', ['method', 'status'], 'all'),
  svc_http_request_seconds_total: counter('total time from request to response, in seconds', ['method'], 'all'),
  svc_connections_refused_total: counter(
    'connections closed because too many were open, by limit: address, total',
    ['limit'],
    'all',
  ),
  svc_logins_total: counter(
    'logins by outcome: accepted, refused, throttled (after too many failed logins), unavailable (could not be verified)',
    ['outcome'],
    'all',
  ),
  svc_tls_certificate_expiry_seconds: gauge(
    'time until a certificate expires (negative after it has expired), by certificate: server, client, authority (the first to expire among the authorities trusted for outgoing connections)',
    ['certificate'],
    'all',
  ),
  svc_duty_runs_total: counter(
    'runs of a duty while this server was the leader',
    ['duty'],
    'coordinator, overlord',
  ),
  svc_duty_failures_total: counter('failed runs of a duty', ['duty'], 'coordinator, overlord'),
  svc_duty_run_seconds_total: counter('total time of all runs of a duty', ['duty'], 'coordinator, overlord'),
  svc_duty_last_run_seconds: gauge('duration of the last run of a duty', ['duty'], 'coordinator, overlord'),
  svc_servers: gauge(
    'data servers that report to the coordinator, by type and tier',
    ['type', 'tier'],
    'coordinator',
  ),
  svc_server_capacity_bytes: gauge(
    'total size of the segments that the historicals can store, in bytes',
    ['tier'],
    'coordinator',
  ),
  svc_server_used_bytes: gauge(
    'total size of the segments on the historicals, in bytes',
    ['tier'],
    'coordinator',
  ),
  svc_segments_used: gauge('used segments, including overshadowed ones', ['datasource'], 'coordinator'),
  svc_segments_unavailable: gauge(
    'segments that rules require but no historical serves',
    ['datasource'],
    'coordinator',
  ),
  svc_segment_copies_served: gauge(
    'replicas that historicals serve, counting only used segments that are not overshadowed',
    ['datasource', 'tier'],
    'coordinator',
  ),
  svc_segment_copies_missing: gauge(
    'replicas that rules require but no historical in the tier serves',
    ['datasource', 'tier'],
    'coordinator',
  ),
  svc_segment_copies_loaded_total: counter(
    'replicas loaded because they were missing',
    ['datasource', 'tier'],
    'coordinator',
  ),
  svc_segment_copies_moved_total: counter(
    'replicas moved from another server',
    ['datasource', 'tier'],
    'coordinator',
  ),
  svc_segment_copies_dropped_total: counter(
    'replicas dropped, including the old replicas of moves',
    ['datasource', 'tier'],
    'coordinator',
  ),
  svc_segment_requests_failed_total: counter(
    'loads and drops that failed on a server',
    ['tier', 'action'],
    'coordinator',
  ),
  svc_load_queue_segments: gauge(
    'loads and drops that are queued on servers and not yet completed',
    ['tier', 'action'],
    'coordinator',
  ),
  svc_load_queue_bytes: gauge(
    'total bytes of the segments whose loads are queued on servers',
    ['tier'],
    'coordinator',
  ),
  svc_load_queue_oldest_seconds: {
    ...gauge('age of the oldest load that is queued on a server', ['tier'], 'coordinator'),
    together: 'largest',
  },
  svc_tasks: gauge('unfinished tasks by state: pending, running', ['type', 'state'], 'overlord'),
  svc_task_slots: gauge('task slots of this worker by state: used, free', ['state'], 'overlord, worker'),
  svc_queries: gauge(
    'queries by lane (short, long) and state (waiting, running, suspended); waiting queries count as short',
    ['lane', 'state'],
    'broker',
  ),
  svc_queries_rejected_total: counter(
    'rejected queries by reason: caller (too many waiting queries of one caller), all (too many waiting queries), long (too many suspended long queries)',
    ['reason'],
    'broker',
  ),
  svc_served_segments: gauge('segments that this server serves', [], 'historical, broker'),
} satisfies Readonly<Record<string, MetricDefinition>>

export type MetricName = keyof typeof metricDefinitions
