/** What is known of one metric before it has a value. */
export interface MetricDefinition {
  readonly kind: 'counter' | 'gauge'
  readonly about: string
  readonly labels: readonly string[]
  /** The roles whose servers tell it. */
  readonly roles: string
}

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

/** All metrics by name. No label has values that grow with the servers of the cluster or its callers. */
export const metricDefinitions = {
  svc_ready: gauge('1 when the server is ready and has no trouble', [], 'all'),
  svc_leader: gauge('1 when this server leads its role', [], 'coordinator, overlord'),
  svc_http_requests_total: counter('requests answered', ['method', 'status'], 'all'),
  svc_http_request_seconds_total: counter('time from request to answer, added up', ['method'], 'all'),
  svc_logins_total: counter(
    'logins by outcome: accepted, refused, unavailable (they could not be checked)',
    ['outcome'],
    'all',
  ),
  svc_duty_runs_total: counter('runs of a duty while this server led', ['duty'], 'coordinator'),
  svc_duty_failures_total: counter('runs of a duty that failed', ['duty'], 'coordinator'),
  svc_duty_run_seconds_total: counter('time of all runs of a duty, added up', ['duty'], 'coordinator'),
  svc_duty_last_run_seconds: gauge('time of the last run of a duty', ['duty'], 'coordinator'),
  svc_tasks: gauge('unfinished tasks by state: pending, running', ['type', 'state'], 'overlord'),
  svc_task_slots: gauge('task slots of this worker by state: used, free', ['state'], 'overlord'),
  svc_served_segments: gauge('segments that this server serves', [], 'historical, broker'),
} satisfies Readonly<Record<string, MetricDefinition>>

export type MetricName = keyof typeof metricDefinitions
