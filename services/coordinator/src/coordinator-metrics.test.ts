import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { type Segment, segmentId } from '@svc/domain/segment'
import { coordinatorConfigName } from '@svc/shared/coordinator-dynamic-config'
import { createDutyGroup } from '@svc/shared/duties'
import { createMetrics } from '@svc/shared/metrics'
import { ensureDefaultRules, saveConfig, saveRules, sql } from '@svc/shared/postgres'
import { createTestContext, createTestStores, serverReport, storeSegments } from '@svc/shared/testing'
import { countCopyChanges, registerCoordinatorMetrics } from './coordinator-metrics.ts'
import { createSegmentInventory, followRules, ServerInventory } from './inventory/index.ts'

const stores = await createTestStores({ after })
const { database } = stores
const context = await createTestContext({ after }, stores, 'coordinator')
const rules = followRules(database)
await rules.start()

const segment = (dataSource: string, day: number): Segment => {
  const key = { dataSource, interval: { start: day, end: day + 1 }, version: 'v1', partitionNum: 0 }
  return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10, totalRows: 1 }
}

/** Creates a coordinator with two servers. The first one serves some segments. */
function setUp(term: number | undefined, served: readonly Segment[]) {
  const metrics = createMetrics('coordinator')
  const segments = createSegmentInventory(database)
  const { table } = segments
  const counting = countCopyChanges(metrics, table)
  const servers = new ServerInventory(60_000, counting, table)
  const report = (name: string, tier: string, given: object = {}) => {
    servers.take(
      [serverReport(name, { tier, maxSizeBytes: 100, usedSizeBytes: 10, session: name, ...given })],
      1,
      performance.now(),
    )
  }
  report('a', 'hot', { segments: served.map(({ id }) => id) })
  report('b', 'cold')
  const dutyGroups = [createDutyGroup('SomeDuties', 60_000, [], context.logger)]
  const leadership = { term: () => term }
  let looks = 0
  const counted = {
    ...rules,
    current: () => {
      looks += 1
      return rules.current()
    },
  }
  registerCoordinatorMetrics(metrics, { context, leadership, segments, servers, rules: counted, dutyGroups })
  const valuesOf = async (name: string): Promise<Record<string, number>> => {
    const lines = (await metrics.text()).text.split('\n').filter((line) => line.startsWith(`${name}{`))
    return Object.fromEntries(
      lines.map((line) => {
        const values = [...line.matchAll(/="([^"]*)"/g)].map(([, value]) => value)
        return [values.join(' '), Number(line.slice(line.lastIndexOf(' ')))]
      }),
    )
  }
  return { valuesOf, servers, report, segments, looks: () => looks }
}

const audit = { author: '', comment: '', identity: '', ip: '' }

describe('the metrics of a coordinator leader', () => {
  const [first, second] = [segment('wiki', 1), segment('wiki', 2)]
  beforeEach(async () => {
    for (const table of [sql`segments`, sql`rules`, sql`dynamic_configs`])
      await database.query(sql`DELETE FROM ${table}`)
    await ensureDefaultRules(database, '[]')
    const loads = [{ type: 'loadForever', tieredReplicants: { hot: 1, cold: 1 } }]
    await saveRules(database, 'wiki', JSON.stringify(loads), audit, 0)
    rules.invalidate()
    await storeSegments(database, [first, second])
  })

  it('count used segments and served and missing replicas by datasource and tier', async () => {
    const { valuesOf } = setUp(1, [first])
    assert.deepEqual(await valuesOf('svc_segments_used'), { wiki: 2 })
    assert.deepEqual(await valuesOf('svc_segments_unavailable'), { wiki: 1 })
    assert.deepEqual(await valuesOf('svc_segment_copies_served'), { 'wiki hot': 1, 'wiki cold': 0 })
    assert.deepEqual(await valuesOf('svc_segment_copies_missing'), { 'wiki hot': 1, 'wiki cold': 2 })
    assert.deepEqual(await valuesOf('svc_servers'), { 'historical hot': 1, 'historical cold': 1 })
    assert.deepEqual(await valuesOf('svc_server_capacity_bytes'), { hot: 100, cold: 100 })
    assert.deepEqual(await valuesOf('svc_server_used_bytes'), { hot: 10, cold: 10 })
  })

  it('add up the replicas of most tiers without servers', async () => {
    const { valuesOf } = setUp(1, [first])
    const tiers = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`t${index}`, 1]))
    const loads = [{ type: 'loadForever', tieredReplicants: { hot: 1, ...tiers } }]
    await saveRules(database, 'wiki', JSON.stringify(loads), audit, 0)
    rules.invalidate()
    const missing = await valuesOf('svc_segment_copies_missing')
    const ofTiers = Object.entries(missing).filter(([labels]) => /^wiki (t\d+|other)$/.test(labels))
    assert.ok(ofTiers.length <= 21, String(ofTiers.length))
    assert.equal(
      ofTiers.reduce((sum, [, value]) => sum + value, 0),
      200,
    )
  })

  it('count clones as servers but ignore their replicas', async () => {
    const { valuesOf, report } = setUp(1, [first])
    report('c', 'cold', { segments: [first.id, second.id] })
    const config = JSON.stringify({ cloneServers: { c: 'b' } })
    await saveConfig(database, coordinatorConfigName, config, 0, audit, 0)
    assert.deepEqual(await valuesOf('svc_segments_unavailable'), { wiki: 1 })
    assert.deepEqual(await valuesOf('svc_segment_copies_served'), { 'wiki hot': 1, 'wiki cold': 0 })
    assert.deepEqual(await valuesOf('svc_segment_copies_missing'), { 'wiki hot': 1, 'wiki cold': 2 })
    assert.deepEqual(await valuesOf('svc_servers'), { 'historical hot': 1, 'historical cold': 2 })
    assert.deepEqual(await valuesOf('svc_server_capacity_bytes'), { hot: 100, cold: 200 })
  })

  it('include the unanswered requests of servers', async () => {
    const { valuesOf, servers, segments } = setUp(1, [first])
    await segments.refresh()
    const sentAtMs = performance.now() - 10_000
    servers.note('b', new Map([[first.id, { action: 'load', sizeBytes: 10, sentAtMs }]]))
    servers.note('a', new Map([[first.id, { action: 'drop', sizeBytes: 10, sentAtMs }]]))
    assert.deepEqual(await valuesOf('svc_load_queue_segments'), {
      'hot load': 0,
      'hot drop': 1,
      'cold load': 1,
      'cold drop': 0,
    })
    assert.deepEqual(await valuesOf('svc_load_queue_bytes'), { hot: 0, cold: 10 })
    const { hot, cold } = (await valuesOf('svc_load_queue_oldest_seconds')) as { hot: number; cold: number }
    assert.equal(hot, 0)
    assert.ok(cold >= 10)
  })

  it('count loaded, moved, and dropped replicas, even of unused segments', async () => {
    const { valuesOf, servers, report, segments } = setUp(1, [first])
    await segments.refresh()
    servers.note('b', new Map([[second.id, { action: 'load', sizeBytes: 10, sentAtMs: 0, replaces: 'a' }]]))
    const change = (id: string, kind: string) => ({ segments: null, to: 1, changes: [{ id, change: kind }] })
    report('b', 'cold', change(second.id, 'loaded'))
    segments.table.remove(first.id)
    report('a', 'hot', change(first.id, 'dropped'))
    report('a', 'hot', { ...change(second.id, 'loaded'), from: 1, to: 2 })
    assert.deepEqual(await valuesOf('svc_segment_copies_moved_total'), { 'wiki cold': 1 })
    assert.deepEqual(await valuesOf('svc_segment_copies_dropped_total'), { 'wiki hot': 1 })
    assert.deepEqual(await valuesOf('svc_segment_copies_loaded_total'), { 'wiki hot': 1 })
  })

  it('come from one scan of the segments for scrapes within a short time', async () => {
    const { valuesOf, looks } = setUp(1, [first])
    await Promise.all([valuesOf('svc_segments_used'), valuesOf('svc_servers')])
    await valuesOf('svc_segments_used')
    assert.equal(looks(), 1)
  })

  it('have no values on other coordinators', async () => {
    const { valuesOf } = setUp(undefined, [first])
    assert.deepEqual(await valuesOf('svc_segments_used'), {})
  })
})
