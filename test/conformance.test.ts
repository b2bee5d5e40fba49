// svc answers the scenarios recorded from Druid 37 as Druid does. run.mjs plays each of them against an empty
// cluster, at the servers and through the router, without security and with TLS and logins. Each answer must
// also match the OpenAPI document.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startCheckingRelay } from './support/checking-relay.ts'
import { resetCluster } from './support/reset-cluster.ts'
import { startTestCluster, type TestCluster } from './support/test-cluster.ts'

const fixtures = path.join(import.meta.dirname, 'fixtures/conformance')

interface Scenario {
  readonly file: string
  readonly steps: number
  /** Whether two datasources are ingested first. */
  readonly isSetUp?: boolean
  /** The servers that can replace the router; a scenario with several servers needs the router. */
  readonly at: readonly string[]
  readonly profiles: readonly ('plain' | 'secure')[]
}

const both = ['plain', 'secure'] as const
// The first one expects the order in which a new store returns segments, so it has a new cluster; the others have one after a reset.
const scenarios: readonly Scenario[] = [
  { file: 'operations.json', steps: 83, isSetUp: true, at: ['router'], profiles: ['plain'] },
  { file: 'retention-rules.json', steps: 62, at: ['coordinator', 'router'], profiles: both },
  { file: 'compaction-config.json', steps: 113, at: ['router'], profiles: both },
  { file: 'compaction-supervisors.json', steps: 30, isSetUp: true, at: ['router'], profiles: both },
]

for (const profile of both) {
  describe(`the profile ${profile}`, () => {
    let cluster: TestCluster
    let isNew = true
    before(async () => {
      cluster = await startTestCluster({ profile, set: ['svc.testing.enabled=true'] })
    })
    after(() => cluster.end())

    for (const { file, steps, isSetUp = false, at, profiles } of scenarios) {
      if (!profiles.includes(profile)) continue
      for (const instance of at) {
        test(`${file} at the ${instance}`, { timeout: 240_000 }, async () => {
          if (!isNew) await resetCluster(cluster.router)
          isNew = false
          const relay = await startCheckingRelay(cluster.urls[instance]!, cluster.trusted)
          try {
            const { status, output } = await play(file, cluster, relay.url, isSetUp)
            assert.equal(lastLine(output), `${steps} passed, 0 failed`, output)
            assert.equal(status, 0)
            assert.deepEqual(relay.problems, [])
          } finally {
            await relay.end()
          }
        })
      }
    }
  })
}

async function play(scenario: string, cluster: TestCluster, router: string, isSetUp: boolean) {
  const { urls, home, trusted, adminPassword } = cluster
  const args = [path.join(fixtures, 'run.mjs'), '--router', router]
  args.push('--coordinator', urls.coordinator!, '--historical', urls['historical-1']!)
  args.push('--historical-name', cluster.nameOf('historical-1'))
  if (isSetUp) args.push('--setup')
  if (trusted !== undefined) {
    const ca = path.join(home.root, 'ca.pem')
    writeFileSync(ca, trusted)
    args.push('--ca', ca)
  }
  if (adminPassword !== undefined) args.push('--auth', `admin:${adminPassword}`, '--identity', 'admin')
  return new Promise<{ status: number; output: string }>((resolve) => {
    execFile(process.execPath, [...args, path.join(fixtures, scenario)], (error, stdout, stderr) => {
      resolve({ status: error ? Number(error.code ?? 1) : 0, output: `${stdout}${stderr}` })
    })
  })
}

function lastLine(output: string): string {
  return output.trimEnd().split('\n').at(-1) ?? ''
}
