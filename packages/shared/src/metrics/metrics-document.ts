import { type MetricDefinition, maxNamedValues, metricDefinitions } from './definitions.ts'
import { otherValues } from './named-values.ts'

/** Returns docs/metrics.md, the page about all metrics, as Markdown. */
export function metricsDocument(): string {
  const definitions = Object.entries(metricDefinitions) as [string, MetricDefinition][]
  const rows = definitions.map(
    ([name, { kind, about, labels, roles }]) =>
      `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${roles} | ${about} |`,
  )
  return `# Metrics

This page lists every metric of the servers. To scrape a cluster, and for a dashboard and
alert rules, see [Monitoring](monitoring.md).

\`GET /metrics\` on every server returns its metrics in the Prometheus text format. It requires the permission READ on
STATE, so a scraper must log in. The metrics of the Node.js process (\`process_*\`, \`nodejs_*\`) are included. Only a
leader reports the state of the cluster: the coordinator leader reports segments, data servers, and load queues, and the
overlord leader reports tasks. Metrics that require an unavailable store are omitted.

## Number of series

No label contains the name of a server, a caller, or a segment, so the number of series does not depend on how many
servers, callers, or segments there are. At most ${maxNamedValues.datasource} datasources and ${maxNamedValues.tier} tiers get their own series; all others are combined under
\`${otherValues}\`. The first ones to appear get their own series, or the largest ones if many appear at once. They keep
their series as long as they exist, so that a counter never decreases. Therefore, a metric with both a datasource label and a tier label has at
most ${((maxNamedValues.datasource + 1) * (maxNamedValues.tier + 1)).toLocaleString('en-US')} series, regardless of the cluster size.

\`./svc dev docs\` generates this page from \`packages/shared/src/metrics/definitions.ts\`.

| metric | type | labels | servers | meaning |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`
}
