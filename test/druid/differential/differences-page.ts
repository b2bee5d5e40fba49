import { differences } from './differences.ts'

/** Returns the text of docs/differences.md. */
export function differencesPage(): string {
  return `# How svc differs from Druid 37

This page lists where the management API of svc responds differently from Druid 37, and why.
\`npm run test:differential -- --page\` writes this page from \`test/druid/differential/differences.ts\`.

A test creates the same random state in svc and in Druid, sends the same random requests to both, and compares the responses and
the state after duties (the periodic jobs of the leaders) have run. The test fails if a difference is not in this table. In runs of
at least 2,000 requests, no row may cover more than 2% of the requests, except for invalid input.

| endpoint | condition | Druid 37 | svc | reason |
| --- | --- | --- | --- | --- |
${differences.map(rowOf).join('\n')}

## What is not compared

- The messages of errors: only the HTTP status is compared.
- Times of changes, addresses of callers, and the order of lists that are unordered in Druid.
- The body \`{"success":true}\` of successful changes: svc responds with an empty body.
- Segments to which no rule applies, not even a default rule: svc loads two replicas in \`_default_tier\`; Druid neither
  loads nor drops them.
- Overshadowed segments whose newer version is required only in tiers without servers: svc marks them as unused; Druid waits
  until the newer version is served.
- What users other than the administrator may do: the administrator sends all requests. Changing users, roles, and mappings
  requires [another permission](security.md#permissions) than in Druid.
- Which server of a tier loads a segment, if the tier has several servers: Druid chooses at random.
- Fingerprints of compaction states, and the field \`created\`, the time at which Druid read a datasource.
- Compaction through supervisors: \`useSupervisors\` is false by default in svc, and true in Druid 37.
- Endpoints that svc does not have: lookups, broker configuration, and the endpoints for workers.

## Run the test

\`\`\`text
npm run test:differential -- --seeds 200 --requests 100
npm run test:differential -- --from 7 --seeds 1
\`\`\`

The test requires Java 17, and Maven, which downloads Druid. The test prints each difference with an example request, and writes a JSON
report.
`
}

const rowOf = ({ endpoint, condition, druid, svc, reason }: (typeof differences)[number]): string =>
  `| ${[endpoint, condition, druid, svc, reason].map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`
