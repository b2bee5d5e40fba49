import { type MetricDefinition, metricDefinitions } from './definitions.ts'

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
the leader only. No label grows with the number of servers or callers; of datasources and tiers the 199 with the largest
values are named and the others added up under \`other\`.

| metric | kind | labels | servers | what |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`
}
