import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SegmentTable } from '../inventory/index.ts'
import { parseRules } from '../rules/index.ts'
import { loadingServers, longRuleLists, simulatedServer, tableOf } from '../testing/index.ts'
import { parseInstant } from '../time/index.ts'
import { loadStatusOf, RetentionPlanner } from './index.ts'

const now = parseInstant('2026-06-15')
const day = 86_400_000
const limits = { maxLoadsPerServer: 10, replicationThrottleLimit: 10 }
const servers = [simulatedServer({ name: 'a', tier: '_default_tier' })]

/** Returns a table of datasources with one segment per day. */
function daysOf(datasourceCount: number, days: number): SegmentTable {
  const starts = Array.from(
    { length: days },
    (_, index) => parseInstant('2020-01-01') + (index - days / 2) * day,
  )
  const names = Array.from({ length: datasourceCount }, (_, index) => `d${index}`)
  return tableOf(
    names.flatMap((dataSource) =>
      starts.map((start) => ({
        id: `${dataSource}_${start}`,
        dataSource,
        interval: { start, end: start + day },
        version: 'v',
        partitionNum: 0,
        partitions: 1,
        sizeBytes: 1,
        totalRows: 1,
      })),
    ),
    servers,
  )
}

// Much longer than any of these tests takes, and much shorter than time proportional to rules times segments would be.
const maxMs = 20_000

describe('a run with 10,000 rules is fast', () => {
  for (const [name, rulesOf] of Object.entries(longRuleLists)) {
    it(name, () => {
      const [own, defaults] = [parseRules(rulesOf(10_000)), parseRules(rulesOf(10_000).toReversed())]
      const rules = new Map([
        ['d0', own],
        ['_default', defaults],
      ])
      const table = daysOf(100, 100)
      const planner = new RetentionPlanner(table)
      const startedAt = performance.now()
      for (const moment of [now, now + 1, now + day]) {
        const run = planner.begin({ now: moment, rules, servers: loadingServers(servers), limits })
        for (let part = run.next(1000); part !== undefined; part = run.next(1000));
        run.tiersWithoutServers()
        for (let datasource = 0; datasource < 100; datasource += 1)
          loadStatusOf(table, datasource, rules, loadingServers(servers), moment)
      }
      assert.ok(performance.now() - startedAt < maxMs)
    })
  }

  it('with thousands of tiers without servers', () => {
    const tieredReplicants = Object.fromEntries(
      Array.from({ length: 50_000 }, (_, index) => [`tier${index}`, 1]),
    )
    const rules = new Map([['_default', parseRules([{ type: 'loadForever', tieredReplicants }])]])
    const table = daysOf(10, 5000)
    const planner = new RetentionPlanner(table)
    const startedAt = performance.now()
    const run = planner.begin({ now, rules, servers: loadingServers(servers), limits })
    for (let part = run.next(1000); part !== undefined; part = run.next(1000));
    assert.equal(run.tiersWithoutServers().get('tier49999'), 50_000)
    const { missingCopies, wantedSegments } = loadStatusOf(table, 0, rules, loadingServers(servers), now)
    assert.equal(missingCopies.get('tier7'), 5000)
    assert.equal(wantedSegments, 5000)
    assert.ok(performance.now() - startedAt < maxMs)
  })
})
