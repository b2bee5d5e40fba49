import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { compileRules, defaultRule, effectiveRules, matchRule, parseRules } from '../rules/index.ts'
import {
  createPlanner,
  isEmptyPlan,
  queuePlan,
  type SimulatedServer,
  simulatedServer,
  workOff,
} from '../testing/index.ts'
import { parseInstant, parseInterval } from '../time/index.ts'
import type { PlanLimits } from './index.ts'

interface RecordedCluster {
  readonly now: string
  readonly servers: readonly {
    readonly name: string
    readonly type: 'historical' | 'broker'
    readonly tier: string
  }[]
  readonly rules: unknown
  readonly segments: readonly {
    readonly interval: string
    readonly partitionNum: number
    readonly loaded: Readonly<Record<string, number>>
    readonly brokers?: number
  }[]
}

const sizeBytes = 1000
const limits: PlanLimits = { maxLoadsPerServer: 10, replicationThrottleLimit: 20 }

/** Runs the rules until there is nothing left to plan. Returns the ids of the segments that become unused. */
function settle(recorded: RecordedCluster, servers: readonly SimulatedServer[]): Set<string> {
  const rules = compileRules(
    effectiveRules(parseRules(recorded.rules), [defaultRule]),
    parseInstant(recorded.now),
  )
  const unused = new Set<string>()
  for (let runs = 0; runs < 1000; runs += 1) {
    const planner = createPlanner(servers, limits)
    for (const [index, { interval }] of recorded.segments.entries()) {
      const { wanted } = rules[matchRule(rules, parseInterval(interval))]!
      if (wanted.action === 'drop') unused.add(`${index}`)
      planner.planSegment({ id: `${index}`, sizeBytes }, wanted)
    }
    const plan = planner.result()
    if (isEmptyPlan(plan)) return unused
    queuePlan(servers, plan, () => sizeBytes)
    workOff(servers, () => sizeBytes)
  }
  return assert.fail('the cluster does not settle')
}

function copiesOf(segmentId: string, servers: readonly SimulatedServer[]) {
  const holders = servers.filter((server) => server.served.has(segmentId))
  const loaded: Record<string, number> = {}
  for (const { type, tier } of holders) if (type === 'historical') loaded[tier] = (loaded[tier] ?? 0) + 1
  return { loaded, brokers: holders.filter(({ type }) => type === 'broker').length }
}

test('every recorded cluster ends in the same state as in Druid 37', () => {
  const file = new URL('../../../../test/fixtures/vectors/tiers.jsonl', import.meta.url)
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  assert.equal(lines.length, 120)
  for (const line of lines) {
    const recorded = JSON.parse(line) as RecordedCluster
    const servers = recorded.servers.map(simulatedServer)
    const unused = settle(recorded, servers)
    for (const [index, { loaded, brokers = 0 }] of recorded.segments.entries()) {
      assert.deepEqual(copiesOf(`${index}`, servers), { loaded, brokers }, `segment ${index} of ${line}`)
      if (unused.has(`${index}`)) assert.deepEqual(loaded, {}, `unused segment ${index} of ${line}`)
    }
  }
})
