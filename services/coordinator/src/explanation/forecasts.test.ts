import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExplainedCluster } from '@svc/domain/explanation'
import { copyFlag } from '@svc/domain/inventory'
import { parseRules } from '@svc/domain/rules'
import { segmentId } from '@svc/domain/segment'
import { loadingServers, simulatedServer, tableOf } from '@svc/domain/testing'
import { waitUntil } from '@svc/shared/testing'
import { createForecasts } from './forecasts.ts'

const key = { dataSource: 'wiki', interval: { start: 0, end: 1 }, version: 'v1', partitionNum: 0 }
const segment = { ...key, id: segmentId(key), partitions: 1, sizeBytes: 100, totalRows: 1 }
const server = simulatedServer({ name: 'h', tier: 'hot', maxSizeBytes: 1000 })
const rulesFor = (copies: number, more: object = { type: 'loadForever' }) =>
  new Map([['wiki', parseRules([{ ...more, tieredReplicants: { hot: copies } }])]])
const period = { type: 'loadByPeriod', period: 'P100Y' }
const cluster: ExplainedCluster = {
  table: tableOf([segment], [server]),
  rules: rulesFor(1, period),
  servers: loadingServers([server]),
  clones: [],
  limits: { maxLoadsPerServer: 1, replicationThrottleLimit: 1 },
  now: 0,
  isPaused: false,
  seesCluster: true,
  overshadowedWaitUntil: undefined,
  unannounced: [],
  awaited: [],
  lost: [],
  nextRun: { at: 0, inMs: 0 },
  rateOf: () => undefined,
  failureOf: () => undefined,
}
const withQueue: ExplainedCluster = {
  ...cluster,
  servers: cluster.servers.map((one) => ({ ...one, queuedLoads: 1 })),
}

test('with periods in the rules, a forecast is used again until something changes, and one of many segments until the next run', async () => {
  for (const [many, isReused] of [
    [2, false],
    [1, true],
  ] as const) {
    let runs = 0
    const forecastOf = createForecasts(() => runs, many)
    const first = await forecastOf(cluster)
    assert.equal(first.totals(() => true).loads, 1)
    assert.equal(await forecastOf({ ...cluster }), first)
    const second = await forecastOf(withQueue)
    assert.equal(second === first, isReused)
    assert.equal(second.totals(() => true).loads, isReused ? 1 : 0)
    assert.notEqual(await forecastOf({ ...withQueue, rules: rulesFor(0, period) }), second)
    const third = await forecastOf(withQueue)
    runs += 1
    // Until the next forecast of many segments is finished, the one before the run is used.
    assert.equal((await forecastOf(withQueue)) === third, isReused)
    const fourth = await waitUntil(
      'the next forecast',
      () => forecastOf(withQueue),
      (forecast) => forecast !== third,
    )
    runs += 2
    assert.notEqual(await forecastOf(withQueue), fourth)
  }
})

test('without periods in the rules, a forecast is used again after any time and run until something changes', async () => {
  for (const many of [2, 1]) {
    let runs = 0
    const forecastOf = createForecasts(() => runs, many)
    const rules = rulesFor(1)
    const fixed = { ...cluster, rules, table: tableOf([segment], [server]) }
    const first = await forecastOf(fixed)
    runs += 5
    assert.equal(await forecastOf(fixed), first)
    fixed.table.changeCopy(segment.id, 0, copyFlag.dropping, 0)
    const second = await forecastOf(fixed)
    assert.notEqual(second, first)
    runs += 5
    assert.equal(await forecastOf({ ...fixed, rules: new Map(rules) }), second)
    assert.notEqual(await forecastOf({ ...fixed, rules: rulesFor(1) }), second)
  }
})
