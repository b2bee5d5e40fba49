import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseRules, type Rule } from '../rules/index.ts'
import { segmentId } from '../segment/index.ts'
import { finish } from '../steps/index.ts'
import { loadingServers, longRuleLists, simulatedServer, tableOf } from '../testing/index.ts'
import { type ExplainedCluster, forecastRun, SegmentExplainer } from './index.ts'

const now = Date.UTC(2026, 5, 15)
const day = 86_400_000
const servers = [simulatedServer({ name: 'a', tier: 'hot', maxSizeBytes: 1e9 })]
const table = tableOf(
  Array.from({ length: 300 }, (_, index) => {
    const interval = { start: now - (index + 1) * day, end: now - index * day }
    const key = { dataSource: 'wiki', interval, version: 'v1', partitionNum: 0 }
    return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 100, totalRows: 1 }
  }),
  servers,
)
const rows = [...table.groupsOf(0)].flatMap((group) => {
  const found: number[] = []
  table.forEachRow(group, (row) => found.push(row))
  return found
})

const explainerFor = (rules: readonly Rule[]): SegmentExplainer => {
  const cluster: ExplainedCluster = {
    table,
    rules: new Map([['wiki', rules]]),
    servers: loadingServers(servers),
    clones: [],
    limits: { maxLoadsPerServer: 5, replicationThrottleLimit: 10 },
    now,
    isPaused: false,
    seesCluster: true,
    overshadowedWaitUntil: undefined,
    unannounced: [],
    awaited: [],
    lost: [],
    nextRun: { at: now, inMs: 0 },
    rateOf: () => undefined,
    failureOf: () => undefined,
  }
  return new SegmentExplainer(cluster, finish(forecastRun(cluster)))
}

const manyTiers = Object.fromEntries(Array.from({ length: 19_000 }, (_, index) => [`t${index}`, 1]))
const lists: Readonly<Record<string, object[]>> = {
  ...Object.fromEntries(Object.entries(longRuleLists).map(([name, listOf]) => [name, listOf(9500)])),
  'one rule with many tiers': [{ type: 'loadForever', tieredReplicants: { ...manyTiers, hot: 1 } }],
}

// Much longer than any of these tests takes, and much shorter than time proportional to rules times segments would be.
const maxCpuMs = 1000

describe('the states of many segments are found quickly', () => {
  for (const [name, list] of Object.entries(lists))
    it(`for a long list of rules: ${name}`, () => {
      const explainer = explainerFor(parseRules(list))
      const startedAt = process.threadCpuUsage()
      for (const row of rows) explainer.stateOf(row)
      explainer.explain(rows[0]!)
      const { user, system } = process.threadCpuUsage(startedAt)
      assert.ok((user + system) / 1000 < maxCpuMs, `${(user + system) / 1000} ms`)
    })
})

describe('the explanation of a segment', () => {
  it('lists the tiers with servers, and counts most of those without', () => {
    const explained = explainerFor(
      parseRules([{ type: 'loadForever', tieredReplicants: { ...manyTiers, hot: 1 } }]),
    ).explain(rows[0]!)
    const { tiers, omittedTiers, causes, state, summary } = explained
    assert.deepEqual(
      tiers.map(({ tier }) => tier),
      [...Object.keys(manyTiers).slice(0, 20), 'hot'],
    )
    assert.equal(omittedTiers, 18_980)
    assert.equal(state, 'missing')
    assert.deepEqual(causes.at(-1), { code: 'tierWithoutServers', text: 'No servers in 18,980 more tiers' })
    assert.equal(causes.length, 22)
    assert.ok(summary.length < 3000, summary)
  })
})
