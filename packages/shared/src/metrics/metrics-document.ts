import { type MetricDefinition, metricDefinitions, mostNamed } from './definitions.ts'
import { otherValues } from './named-values.ts'

/** Every metric as a page in Markdown: docs/metrics.md. */
export function metricsDocument(): string {
  const definitions = Object.entries(metricDefinitions) as [string, MetricDefinition][]
  const rows = definitions.map(
    ([name, { kind, about, labels, roles }]) =>
      `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${roles} | ${about} |`,
  )
  return `# Metrics

Made from packages/shared/src/metrics/definitions.ts by \`./svc dev docs\`.

\`GET /metrics\` of every server answers in the text format of Prometheus; it needs READ on STATE, so a scraper logs in.
The metrics of the Node.js process (\`process_*\`, \`nodejs_*\`) come with it. What a role does while it leads is told by
the leader only; what cannot be read because a store is away is left out. How to scrape a cluster, a dashboard and alert rules: [monitoring.md](monitoring.md).

## How many series there are

No label has the name of a server, a caller or a segment: the number of series does not grow with them. Of datasources
at most ${mostNamed.datasource} are told by name, of tiers ${mostNamed.tier}; all others are added up under \`${otherValues}\`. The first ones to come, and the
largest where many come at once, are named, and keep their names while they are there, so that a counter never falls.
A metric of datasources and tiers has so at most ${(mostNamed.datasource + 1) * (mostNamed.tier + 1)} series, whatever the cluster is.

| metric | kind | labels | servers | what |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`
}
