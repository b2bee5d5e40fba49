import { differences } from './differences.ts'

/** Returns the text of docs/differences.md. */
export function differencesPage(): string {
  return `# How svc differs from Druid 37

This page lists where the management interface of svc responds differently from Druid 37, and why.
\`npm run test:differential -- --page\` writes it from \`test/druid/differential/differences.ts\`.

A test builds the same random state in both systems, sends both the same random requests, and compares the answers and
the state after duties have run. Differences that are neither fixed nor in this table make it fail. Except for invalid
input, no row may cover more than 2% of the requests.

| endpoint | condition | Druid 37 | svc | reason |
| --- | --- | --- | --- | --- |
${differences.map(rowOf).join('\n')}

## What is not compared

- The texts of errors: only the status counts.
- Times of changes, addresses of callers, and the order of lists that are unordered in Druid.
- The body \`{"success":true}\` of successful changes: svc answers with an empty body.
- Segments to which no rule applies, not even a default rule: svc loads two replicas in \`_default_tier\`; Druid neither
  loads nor drops them.
- Overshadowed segments whose newer version is required only in tiers without servers: svc marks them as unused; Druid waits
  until the newer version is served.
- Which server of a tier has a segment, if the tier has several servers: Druid chooses at random.
- Fingerprints of compaction states, and the time \`created\` at which Druid read a datasource.
- Compaction through supervisors: \`useSupervisors\` is false by default in svc, and true in Druid 37.
- Lists of more than 1,000 tasks: svc returns the newest 1,000 unless a request sets \`max\`; Druid returns all running, pending,
  and waiting ones.
- Endpoints that svc does not have: lookups, broker configuration, and the endpoints for workers.

## Run it

\`\`\`text
npm run test:differential -- --seeds 200 --requests 100
npm run test:differential -- --from 7 --seeds 1
\`\`\`

It requires Java 17 and Maven, which downloads Druid. It prints each difference with one request, and writes a JSON report.
`
}

const rowOf = ({ endpoint, condition, druid, svc, reason }: (typeof differences)[number]): string =>
  `| ${[endpoint, condition, druid, svc, reason].map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`
