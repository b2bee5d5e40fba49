// svc answers the recorded scenarios of users, roles, mappings, logins, and authenticator chains as Druid 37
// does: run.mjs plays them against new clusters, at the coordinator itself, and through the router's /proxy/coordinator.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { playSecurityScenarios, stepsOf, type Way } from './support/play-scenario.ts'
import { chainProperties, metadataLoginProperties } from './support/security-properties.ts'
import { startTestCluster, type TestCluster } from './support/test-cluster.ts'

interface Row {
  /** The scenarios of each test. They are played one after another: all but the last one remove what they create. */
  readonly tests: readonly (readonly string[])[]
  /** The properties that Druid 37 had. */
  readonly set: readonly string[]
  /** Whether direct requests use TLS. */
  readonly profile: 'secure' | 'plain'
}

const rows: readonly Row[] = [
  {
    tests: [
      ['security/users.json'],
      ['security/roles-permissions.json'],
      ['security/group-mappings.json'],
      ['security/setup.json', 'security/authentication.json'],
    ],
    set: metadataLoginProperties,
    profile: 'secure',
  },
  { tests: [['security/chain-skip-true.json']], set: chainProperties(true), profile: 'plain' },
  { tests: [['security/chain-skip-false.json']], set: chainProperties(false), profile: 'plain' },
]

for (const way of ['directly', 'through the router'] satisfies Way[]) {
  for (const { tests, set, profile } of rows) {
    describe(`a new cluster ${way}`, () => {
      let cluster: TestCluster
      before(async () => {
        cluster = await startTestCluster({ profile: way === 'directly' ? profile : 'plain', set })
      })
      after(() => cluster.end())
      for (const scenarios of tests) {
        test(`${scenarios.join(', ')} ${way}`, { timeout: 180_000 }, async () => {
          const { status, output, lastLine } = await playSecurityScenarios(cluster, way, scenarios)
          const steps = scenarios.reduce((sum, scenario) => sum + stepsOf(scenario), 0)
          assert.equal(lastLine, `${steps} passed, 0 failed`, output)
          assert.equal(status, 0)
        })
      }
    })
  }
}
