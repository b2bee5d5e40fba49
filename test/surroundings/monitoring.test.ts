// Tests deploy/monitoring with a real Prometheus: it accepts the configuration and the rules, each alert fires
// for its problem and for nothing else, a user who can only read STATE scrapes a cluster over TLS, and every
// expression of the dashboard returns data.
import assert from 'node:assert/strict'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { type Segment, segmentId } from '@svc/domain/segment'
import { metricDefinitions } from '@svc/shared/metrics'
import { storeSegments, waitUntil } from '@svc/shared/testing'
import { type Prometheus, promtool, startPrometheus } from '../support/prometheus.ts'
import { startTestCluster } from '../support/test-cluster.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { addUsers, credentialsOf } from '../support/test-users.ts'

const monitoring = path.join(repositoryRoot, 'deploy/monitoring')
const read = (name: string): string => readFileSync(path.join(monitoring, name), 'utf8')

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly expr: string }[]
}
const { panels } = JSON.parse(read('dashboard.json')) as { panels: readonly Panel[] }
const expressions = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })))
const alertNames = [...read('alerts.yml').matchAll(/alert: (\w+)/g)].map(([, name]) => name!)

const folder = newTestFolder()
after(() => removeTestFolder(folder))
cpSync(monitoring, folder, { recursive: true })

const groups = [
  { count: 4, tier: 'hot', size: '1g', loadBytesPerSecond: '1g', failureProbability: 0.2 },
  { count: 2, tier: '_default_tier', size: '1g', loadBytesPerSecond: '1g' },
]
const cluster = await startTestCluster({
  profile: 'secure',
  set: [
    'svc.simulation.enabled=true',
    `historical.svc.simulation.virtualServers=${JSON.stringify(groups)}`,
    'coordinator.svc.coordinator.period=PT0.5S',
  ],
})
after(() => cluster.end())

/** The metrics of all alerts in a healthy cluster: values of one hour, one per minute. */
const healthy: Readonly<Record<string, string>> = {
  'up{role="router",instance="r:1"}': '1x60',
  'up{role="historical",instance="h:1"}': '1x60',
  'up{role="coordinator",instance="c:1"}': '1x60',
  'up{role="coordinator",instance="c:2"}': '1x60',
  'up{role="overlord",instance="o:1"}': '1x60',
  'svc_ready{role="historical",instance="h:1"}': '1x60',
  'svc_leader{role="coordinator",instance="c:1"}': '1x60',
  'svc_leader{role="coordinator",instance="c:2"}': '0x60',
  'svc_leader{role="overlord",instance="o:1"}': '1x60',
  'svc_segments_unavailable{instance="c:1",datasource="wiki"}': '0x60',
  'svc_segment_copies_missing{instance="c:1",datasource="wiki",tier="hot"}': '0x60',
  'svc_load_queue_oldest_seconds{instance="c:1",tier="hot"}': '30x60',
  'svc_segment_requests_failed_total{instance="c:1",tier="hot",action="load"}': '5x60',
  'svc_server_used_bytes{instance="c:1",tier="hot"}': '80x60',
  'svc_server_capacity_bytes{instance="c:1",tier="hot"}': '100x60',
  'svc_duty_failures_total{instance="c:1",duty="runRules"}': '1x60',
  'svc_duty_failures_total{instance="o:1",duty="queueTasks"}': '1x60',
  'svc_duty_runs_total{instance="c:1",duty="runRules"}': '0+1x60',
  'svc_tasks{instance="o:1",type="compact",state="pending"}': '3x60',
  'svc_task_slots{instance="o:1",state="free"}': '1x60',
  'svc_logins_total{role="router",instance="r:1",outcome="refused"}': '0+1x60',
  'svc_http_requests_total{role="router",instance="r:1",method="GET",status="403"}': '0+1x60',
  'svc_http_requests_total{role="router",instance="r:1",method="GET",status="503"}': '0+1x60',
  'svc_tls_certificate_expiry_seconds{role="router",instance="r:1",certificate="server"}': '2000000-60x60',
}

/** Problems in one series, and the alerts that they trigger. */
const problems: readonly [alerts: readonly string[], series: string, values: string][] = [
  [[], 'up{role="router"', '1x60'],
  [['SvcServerDown'], 'up{role="historical"', '0x60'],
  [['SvcRouterDown', 'SvcServerDown'], 'up{role="router"', '0x60'],
  [['SvcServerNotReady'], 'svc_ready', '0x60'],
  [['SvcNoLeader'], 'svc_leader{role="overlord"', '0x60'],
  // It is dead and no longer reports anything.
  [['SvcNoLeader'], 'svc_leader{role="overlord"', '1x20 _x40'],
  // The second one runs no duties.
  [['SvcTwoLeaders', 'SvcDutiesStuck'], 'svc_leader{role="coordinator",instance="c:2"', '1x60'],
  [['SvcSegmentsUnavailable'], 'svc_segments_unavailable', '7x60'],
  [['SvcReplicasMissing'], 'svc_segment_copies_missing', '7x60'],
  [['SvcLoadQueueStuck'], 'svc_load_queue_oldest_seconds', '0+60x60'],
  [['SvcSegmentRequestsFail'], 'svc_segment_requests_failed_total', '0+1x60'],
  [['SvcTierAlmostFull'], 'svc_server_used_bytes', '95x60'],
  [['SvcDutyFails'], 'svc_duty_failures_total', '0+1x60'],
  [[], 'svc_duty_failures_total{instance="o:1"', '0+1x60'],
  [['SvcDutyFails'], 'svc_duty_failures_total{instance="o:1"', '0+20x60'],
  [['SvcDutiesStuck'], 'svc_duty_runs_total', '5x60'],
  [['SvcTasksPending'], 'svc_task_slots', '0x60'],
  [['SvcLoginsRejected'], 'svc_logins_total', '0+20x60'],
  [
    ['SvcRequestsForbidden'],
    'svc_http_requests_total{role="router",instance="r:1",method="GET",status="403"',
    '0+20x60',
  ],
  [
    ['SvcServerErrors'],
    'svc_http_requests_total{role="router",instance="r:1",method="GET",status="503"',
    '0+20x60',
  ],
  [['SvcCertificateExpiresIn14Days'], 'svc_tls_certificate_expiry_seconds', '1000000-60x60'],
  [
    ['SvcCertificateExpiresIn14Days', 'SvcCertificateExpiresIn2Days'],
    'svc_tls_certificate_expiry_seconds',
    '100000-60x60',
  ],
]

describe('the files', () => {
  test('the alert rules are valid', async () => {
    assert.match(
      await promtool('check', 'rules', path.join(folder, 'alerts.yml')),
      new RegExp(`${alertNames.length} rules found`),
    )
  })

  test('each alert fires for its problem, and none fires in a healthy cluster', async () => {
    assert.deepEqual([...new Set(problems.flatMap(([alerts]) => alerts))].sort(), alertNames.toSorted())
    const cases = problems.map(([alerts, changed, changedValues]) => ({
      name: `${alerts.join(' and ') || 'nothing'} with ${changed} ${changedValues}`,
      interval: '1m',
      input_series: Object.entries(healthy).map(([series, values]) => ({
        series: series.replace('{', '{job="svc",'),
        values: series.startsWith(changed) ? changedValues : values,
      })),
      promql_expr_test: [
        {
          expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: '55m',
          exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
        },
      ],
    }))
    const file = path.join(folder, 'alerts.test.yml')
    // JSON is valid YAML.
    writeFileSync(
      file,
      JSON.stringify({ rule_files: ['alerts.yml'], evaluation_interval: '1m', tests: cases }),
    )
    assert.match(await promtool('test', 'rules', file), /SUCCESS/)
  })

  test('alerts and dashboard use existing metrics', () => {
    const known = new Set(Object.keys(metricDefinitions))
    const metricNames = `${read('alerts.yml')}\n${read('dashboard.json')}`.match(/\bsvc_[a-z_]+/g)
    assert.deepEqual(
      (metricNames ?? []).filter((name) => !known.has(name)),
      [],
    )
  })

  test('the panels of the dashboard have distinct ids and do not overlap', () => {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
    )
    assert.equal(new Set(cells).size, cells.length)
    assert.ok(panels.every(({ gridPos: { x, w } }) => x + w <= 24))
  })
})

describe('a cluster', () => {
  let prometheus: Prometheus
  after(() => prometheus?.stop())

  test('is scraped over TLS by a user who can only read STATE', async () => {
    await addUsers(cluster, { monitor: [{ resource: { type: 'STATE', name: '.*' }, action: 'READ' }] })
    const [, password = ''] = credentialsOf('monitor').split(':')
    writeFileSync(path.join(folder, 'password'), password)
    writeFileSync(path.join(folder, 'authority.pem'), cluster.trusted ?? '')
    const targets = cluster.plan.services.map(({ role, instance }) => ({
      labels: { role },
      targets: [cluster.nameOf(instance)],
    }))
    writeFileSync(path.join(folder, 'targets.yml'), JSON.stringify(targets))
    const often = read('prometheus.yml').replaceAll('15s', '1s')
    writeFileSync(path.join(folder, 'prometheus.yml'), often)
    assert.match(await promtool('check', 'config', path.join(folder, 'prometheus.yml')), /SUCCESS/)
    prometheus = await startPrometheus(folder)
    await waitUntil(
      'all servers are scraped',
      () => prometheus.targets(),
      (found) => found.length === targets.length && found.every(({ health }) => health === 'up'),
    )
    const refused = await cluster.router.send({
      path: '/status/properties',
      credentials: credentialsOf('monitor'),
    })
    assert.equal(refused.status, 403)
  })

  const countOf = async (expression: string): Promise<number> =>
    Number((await prometheus.query(`sum(${expression})`))[0]?.value[1] ?? 0)

  test('has metrics of segment loading and of rejected requests', async () => {
    const segments = Array.from({ length: 200 }, (_, day): Segment => {
      const interval = { start: day * 86_400_000, end: (day + 1) * 86_400_000 }
      const key = { dataSource: 'watched', interval, version: 'v1', partitionNum: 0 }
      return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 1_000_000, totalRows: 1 }
    })
    await storeSegments(cluster.store, segments)
    await cluster.router.post('/svc/coordinator/v1/rules/watched', [
      { type: 'loadForever', tieredReplicants: { hot: 2 } },
    ])
    await waitUntil(
      'all replicas are reported',
      () => countOf('svc_segment_copies_served{datasource="watched",tier="hot"}'),
      (copies) => copies === 400,
    )
    assert.equal(await countOf('svc_segments_used{datasource="watched"}'), 200)
    assert.equal(await countOf('svc_segments_unavailable'), 0)
    assert.equal(await countOf('svc_server_capacity_bytes{tier="hot"}'), 4_000_000_000)
    assert.equal(await countOf('svc_servers{type="historical"}'), 6)
    assert.equal(await countOf('svc_leader'), 2)
    await waitUntil(
      'loads and failures are counted',
      async () => [
        await countOf('svc_segment_copies_loaded_total{datasource="watched",tier="hot"}'),
        await countOf('svc_segment_requests_failed_total{tier="hot",action="load"}'),
      ],
      ([loads = 0, failures = 0]) => loads >= 400 && failures > 0,
    )
    const { router } = cluster
    await router.send({ path: '/svc/coordinator/v1/rules', credentials: 'monitor:wrong-password' })
    await waitUntil(
      'rejected requests are counted',
      async () => [
        await countOf('svc_logins_total{role="router",outcome="refused"}'),
        await countOf('svc_http_requests_total{role="router",status="401"}'),
        await countOf('svc_http_requests_total{role="router",status="403"}'),
      ],
      (counts) => counts.join() === '1,1,1',
    )
  })

  test('returns data for every panel of the dashboard', async () => {
    for (const { title, expr } of expressions) {
      const expression = expr.replaceAll('$job', 'svc').replaceAll('$__rate_interval', '20s')
      await waitUntil(
        `[${title}] has data: ${expression}`,
        () => prometheus.query(expression),
        (samples) =>
          samples.length > 0 && samples.every(({ value: [, value] }) => Number.isFinite(Number(value))),
      )
    }
  })

  test('has no alerts except that its servers fail to load segments', async () => {
    const alerts = await prometheus.query('ALERTS{alertstate="firing"}')
    const names = alerts.map(({ metric }) => metric.alertname ?? '')
    assert.deepEqual(
      names.filter((name) => name !== 'SvcSegmentRequestsFail'),
      [],
    )
  })
})
