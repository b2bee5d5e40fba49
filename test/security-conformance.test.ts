// svc answers the recorded scenarios of users, roles, mappings, logins, and authenticator chains as Druid 37
// does: run.mjs plays them against a new cluster each time, at the coordinator itself, and through the router's
// /proxy/coordinator.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { playSecurityScenarios, stepsOf, type Way } from './support/play-scenario.ts'
import { chainProperties, metadataLoginProperties } from './support/security-properties.ts'
import { startTestCluster } from './support/test-cluster.ts'

interface Row {
  readonly scenarios: readonly string[]
  /** The properties that Druid 37 had. */
  readonly set: readonly string[]
  /** Whether direct requests use TLS. */
  readonly profile: 'secure' | 'plain'
}

const rows: readonly Row[] = [
  { scenarios: ['security/users.json'], set: metadataLoginProperties, profile: 'secure' },
  { scenarios: ['security/roles-permissions.json'], set: metadataLoginProperties, profile: 'secure' },
  { scenarios: ['security/group-mappings.json'], set: metadataLoginProperties, profile: 'secure' },
  {
    scenarios: ['security/setup.json', 'security/authentication.json'],
    set: metadataLoginProperties,
    profile: 'secure',
  },
  { scenarios: ['security/chain-skip-true.json'], set: chainProperties(true), profile: 'plain' },
  { scenarios: ['security/chain-skip-false.json'], set: chainProperties(false), profile: 'plain' },
]

for (const { scenarios, set, profile } of rows) {
  for (const way of ['directly', 'through the router'] satisfies Way[]) {
    test(`${scenarios.join(', ')} ${way}`, { timeout: 180_000 }, async () => {
      const cluster = await startTestCluster({ profile: way === 'directly' ? profile : 'plain', set })
      try {
        const { status, output, lastLine } = await playSecurityScenarios(cluster, way, scenarios)
        const steps = scenarios.reduce((sum, scenario) => sum + stepsOf(scenario), 0)
        assert.equal(lastLine, `${steps} passed, 0 failed`, output)
        assert.equal(status, 0)
      } finally {
        await cluster.end()
      }
    })
  }
}
