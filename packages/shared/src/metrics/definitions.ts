/** What is known of one metric before it has a value. */
export interface MetricDefinition {
  readonly kind: 'counter' | 'gauge'
  readonly about: string
  readonly labels: readonly string[]
  /** The roles whose servers tell it. */
  readonly roles: string
  /** What is told of values that stand under one label in the end; their sum unless said otherwise. */
  readonly together?: 'largest'
}

/**
 * Labels whose values people make, with how many of them are told by name. All other labels have the few values that
 * the source gives them; none has the name of a server or a caller.
 */
export const mostNamed = { datasource: 100, tier: 20 } as const

/** A label of which only so many values are told by name. */
export type BoundedLabel = keyof typeof mostNamed

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
  svc_ready: gauge('1 when the server is ready and has no trouble', [], 'all'),
  svc_leader: gauge('1 when this server leads its role', [], 'coordinator, overlord'),
  svc_http_requests_total: counter('requests answered', ['method', 'status'], 'all'),
  svc_http_request_seconds_total: counter('time from request to answer, added up', ['method'], 'all'),
  svc_logins_total: counter(
    'logins by outcome: accepted, refused, throttled (too many had failed), unavailable (they could not be checked)',
    ['outcome'],
    'all',
  ),
  svc_tls_certificate_expiry_seconds: gauge(
    'time until a certificate runs out, less than 0 when it has: that of the server, the one that it shows as a client, and the first of the authorities that it trusts as a client',
    ['certificate'],
    'all',
  ),
  svc_duty_runs_total: counter('runs of a duty while this server led', ['duty'], 'coordinator'),
  svc_duty_failures_total: counter('runs of a duty that failed', ['duty'], 'coordinator'),
  svc_duty_run_seconds_total: counter('time of all runs of a duty, added up', ['duty'], 'coordinator'),
  svc_duty_last_run_seconds: gauge('time of the last run of a duty', ['duty'], 'coordinator'),
  svc_servers: gauge('data servers that report, by type and tier', ['type', 'tier'], 'coordinator'),
  svc_server_capacity_bytes: gauge(
    'bytes of segments that the historicals may hold',
    ['tier'],
    'coordinator',
  ),
  svc_server_used_bytes: gauge('bytes of segments that the historicals hold', ['tier'], 'coordinator'),
  svc_segments_used: gauge('used segments, overshadowed ones included', ['datasource'], 'coordinator'),
  svc_segments_unavailable: gauge(
    'segments that rules want on some server, and no historical serves',
    ['datasource'],
    'coordinator',
  ),
  svc_segment_copies_served: gauge(
    'copies of used segments that historicals serve, overshadowed ones left out',
    ['datasource', 'tier'],
    'coordinator',
  ),
  svc_segment_copies_missing: gauge(
    'copies that rules want and no historical of the tier serves',
    ['datasource', 'tier'],
    'coordinator',
  ),
  svc_segment_copies_loaded_total: counter(
    'copies loaded because they were missing',
    ['datasource', 'tier'],
    'coordinator',
  ),
  svc_segment_copies_moved_total: counter(
    'copies loaded to take the place of one on another server',
    ['datasource', 'tier'],
    'coordinator',
  ),
  svc_segment_copies_dropped_total: counter(
    'copies dropped, the former ones of moves included',
    ['datasource', 'tier'],
    'coordinator',
  ),
  svc_segment_requests_failed_total: counter(
    'loads and drops that a server could not carry out',
    ['tier', 'action'],
    'coordinator',
  ),
  svc_load_queue_segments: gauge(
    'loads and drops that servers were asked for and have not answered',
    ['tier', 'action'],
    'coordinator',
  ),
  svc_load_queue_bytes: gauge('bytes of the loads among them', ['tier'], 'coordinator'),
  svc_load_queue_oldest_seconds: {
    ...gauge('age of the oldest load among them', ['tier'], 'coordinator'),
    together: 'largest',
  },
  svc_tasks: gauge('unfinished tasks by state: pending, running', ['type', 'state'], 'overlord'),
  svc_task_slots: gauge('task slots of this worker by state: used, free', ['state'], 'overlord, worker'),
  svc_queries: gauge(
    'queries by lane (short, long) and state (waiting, running, suspended); a query that waits is short',
    ['lane', 'state'],
    'broker',
  ),
  svc_queries_rejected_total: counter(
    'queries rejected by reason: caller (too many of one caller wait), all (too many wait), long (too many long ones are suspended)',
    ['reason'],
    'broker',
  ),
  svc_served_segments: gauge('segments that this server serves', [], 'historical, broker'),
} satisfies Readonly<Record<string, MetricDefinition>>

export type MetricName = keyof typeof metricDefinitions
