import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { RetentionPlanner } from '@svc/domain/retention'
import { type Segment, segmentId } from '@svc/domain/segment'
import {
  acquireLease,
  ensureDefaultRules,
  eraseUnused,
  markUnused,
  type RulesSnapshot,
  sql,
} from '@svc/shared/postgres'
import { createTestContext, createTestStores, httpRequest, storeSegments } from '@svc/shared/testing'
import { applyDecisions } from '../duties/apply-decisions.ts'
import { createSegmentInventory, followRules, ServerInventory } from '../inventory/index.ts'
import { createPreviews } from '../preview/index.ts'
import { markKeptUsedRoute } from './mark-kept-used.ts'
import { previewRulesRoutes } from './preview-rules.ts'
import { createRuleLists, firstDefaultRules, ruleHistoryRoutes, rulesRoutes } from './rules.ts'

const stores = await createTestStores({ after })
const { database } = stores
const context = await createTestContext({ after }, stores, 'coordinator')
const rules = followRules(database)
const servers = new ServerInventory(60_000)
const segments = createSegmentInventory(database, servers.table)
const dayMs = 86_400_000
const today = Date.UTC(2026, 5, 15)
const clock = { now: () => today }

before(async () => {
  await rules.start()
  const leadership = { term: () => 1 }
  const view = { context: { ...context, clock }, leadership, segments, servers, rules, dutyGroups: [] }
  const previews = createPreviews(view, { unknownReasons: () => [] })
  const lists = createRuleLists(view.context, rules, previews.warningsOf)
  const routes = [
    ...ruleHistoryRoutes(view.context),
    ...rulesRoutes(rules, lists),
    ...previewRulesRoutes(view, previews, lists),
    markKeptUsedRoute(view.context),
  ]
  await context.serve({ routes })
})
beforeEach(async () => {
  for (const table of ['segments', 'rules', 'audit', 'killed_segments', 'leader_leases'])
    await database.query(sql`DELETE FROM ${sql([table])}`)
  await ensureDefaultRules(database, firstDefaultRules)
  await acquireLease(
    database,
    { role: 'coordinator', holder: 'me', node: 'me', baseUrl: 'http://me' },
    600_000,
  )
  rules.invalidate()
  await segments.refresh()
  servers.reset()
})

const path = '/svc/coordinator/v1/rules'
const post = async (rest: string, body?: unknown) => {
  const answer = await httpRequest(context.port, {
    path: `${path}/${rest}`,
    method: 'POST',
    ...(body === undefined ? {} : { body, headers: { 'Content-Type': 'application/json' } }),
  })
  assert.equal(answer.status, 200, answer.text)
  return answer.json as Record<string, unknown>
}
interface Change {
  readonly id: number
  readonly replaced: string | null
}
/** Replaces rules, and returns the ID of the change. */
const setRules = async (dataSource: string, ...list: object[]): Promise<number> => {
  await post(dataSource, list)
  return (await historyOf(dataSource))[0]!.id
}
const historyOf = async (dataSource: string) =>
  (await httpRequest(context.port, { path: `${path}/${dataSource}/history?count=10&full` })).json as Change[]
const markUsed = async (dataSource: string, since: number) =>
  (await post(`${dataSource}/markUsed?since=${since}`)).numChangedSegments
const restorable = async (body: object) => {
  const answer = (await post('simulate', body)) as {
    summary: { restorable: object; effects: { loaded: { segments: number } } }
    warnings: { type: string; message: string }[]
  }
  const { summary, warnings } = answer
  return {
    restorable: summary.restorable,
    loaded: summary.effects.loaded.segments,
    warnings: warnings.filter(({ type }) => type.endsWith('SegmentsStay')).map(({ message }) => message),
  }
}

function segment(daysAgo: number, dataSource = 'wiki', version = 'v1'): Segment {
  const start = today - daysAgo * dayMs
  const key = { dataSource, interval: { start, end: start + dayMs }, version, partitionNum: 0 }
  return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10, totalRows: 1 }
}
const unusedDays = async (dataSource = 'wiki') => {
  const rows = await database.query<{ start: number }>(sql`
    SELECT start_ms::float8 AS start FROM segments WHERE NOT used AND datasource = ${dataSource} ORDER BY start_ms DESC`)
  return rows.map(({ start }) => (today - start) / dayMs)
}

/** Runs the retention duty with the rules in force. */
async function runDuty(snapshot?: RulesSnapshot) {
  await segments.refresh()
  const inForce = snapshot ?? (await rules.snapshot())
  const limits = { maxLoadsPerServer: 100, throttledPerTier: 100 } as never
  const run = new RetentionPlanner(segments.table).begin(
    { now: today, rules: inForce.rules, servers: [], limits },
    true,
  )
  const queue = async () => ({ loads: 0, drops: 0 })
  const stamp = { term: 1, isLeader: () => true, turbo: new Set<string>() }
  const input = { database, clock, table: segments.table, rules: inForce, queue }
  return (await applyDecisions(input, run, [], stamp, true))!.done.markedUnused
}

const loadForever = { type: 'loadForever', tieredReplicants: { hot: 1 } }
const lastDays = (days: number) => [
  { type: 'loadByPeriod', period: `P${days}D`, tieredReplicants: { hot: 1 } },
  { type: 'dropForever' },
]
const server = { name: 'one', type: 'historical', tier: 'hot' }

describe('a rule change', () => {
  it('is undone: what it marked as unused is used again, and nothing else', async () => {
    await storeSegments(
      database,
      [2, 5, 10, 20, 30].map((days) => segment(days)),
    )
    await storeSegments(database, [segment(20, 'other')])
    await setRules('wiki', loadForever)
    await markUnused(database, [segment(2).id], { kind: 'request', identity: 'ann' }, today)
    const first = await setRules('wiki', ...lastDays(25))
    assert.equal(await runDuty(), 1)
    const second = await setRules('wiki', ...lastDays(7))
    assert.equal(await runDuty(), 2)
    assert.deepEqual(await unusedDays(), [2, 10, 20, 30])

    const [{ replaced } = { replaced: null }] = await historyOf('wiki')
    assert.equal(replaced, JSON.stringify(JSON.parse(replaced!)))
    await post('wiki', JSON.parse(replaced!))
    assert.equal(await markUsed('wiki', second), 2)
    assert.deepEqual(await unusedDays(), [2, 30])
    assert.equal(await runDuty(), 0)

    await setRules('wiki', loadForever)
    assert.equal(await markUsed('wiki', first), 1)
    assert.equal(await markUsed('wiki', first), 0)
    assert.deepEqual(await unusedDays(), [2])
  })

  it('is undone with the IDs of the segments that are used again', async () => {
    await storeSegments(
      database,
      [2, 10, 20].map((days) => segment(days)),
    )
    await setRules('wiki', ...lastDays(7))
    await runDuty()
    await setRules('wiki', ...lastDays(15))
    assert.deepEqual((await post('wiki/markUsed?ids')).segmentIds, [segment(10).id])
    assert.deepEqual((await post('wiki/markUsed?ids')).segmentIds, [])
    assert.deepEqual(Object.keys(await post('wiki/markUsed')), [
      'numChangedSegments',
      'segmentStateChanged',
      'next',
    ])
  })

  it('stores why each segment became unused', async () => {
    await storeSegments(database, [segment(20), segment(5)])
    const own = await setRules('wiki', ...lastDays(7))
    const defaults = await setRules('_default', loadForever)
    // Nobody loads the newer version, so the older one can be replaced.
    await setRules('new', { type: 'loadForever', tieredReplicants: {} })
    await storeSegments(database, [segment(5, 'new'), segment(5, 'new', 'v2')])
    await runDuty()
    const causes = await database.query(sql`
      SELECT datasource, unused_cause AS cause, unused_detail AS detail, unused_rules_id AS own,
        unused_default_rules_id AS defaults, unused_by_default_rules AS "isDefault"
      FROM segments WHERE NOT used ORDER BY datasource`)
    assert.deepEqual(causes, [
      { datasource: 'new', cause: 'overshadowed', detail: 'v2', own: null, defaults: null, isDefault: null },
      {
        datasource: 'wiki',
        cause: 'dropRule',
        detail: '{"type":"dropForever"}',
        own,
        defaults,
        isDefault: false,
      },
    ])
  })

  it('of the cluster default rules is undone in all datasources', async () => {
    await storeSegments(database, [segment(20), segment(20, 'other')])
    // These rules apply to newer data only, so a default rule drops the segment.
    await setRules('other', { type: 'loadByPeriod', period: 'P7D' })
    const change = await setRules('_default', { type: 'dropForever' })
    assert.equal(await runDuty(), 2)
    const causes = await database.query(
      sql`SELECT unused_by_default_rules AS "isDefault" FROM segments WHERE NOT used`,
    )
    assert.deepEqual(causes, [{ isDefault: true }, { isDefault: true }])
    const body = { rules: {}, defaultRules: [loadForever], markUsedSince: change, servers: [server] }
    const { restorable: found, loaded } = await restorable(body)
    assert.deepEqual([(found as { segments: number }).segments, loaded], [2, 2])
    await post('_default', [loadForever])
    assert.equal(await markUsed('wiki', change + 1), 0)
    assert.equal(await markUsed('_default', change + 1), 0)
    assert.equal(await markUsed('_default', change), 2)
  })

  it('marks nothing because of rules that were replaced in the meantime', async () => {
    await storeSegments(database, [segment(20)])
    await setRules('wiki', { type: 'dropForever' })
    const replaced = await rules.snapshot()
    await setRules('wiki', loadForever)
    assert.equal(await runDuty(replaced), 0)
    assert.deepEqual(await unusedDays(), [])
  })

  it('leaves segments unused that newer ones overshadow', async () => {
    await storeSegments(database, [segment(20), segment(21)])
    const change = await setRules('wiki', { type: 'dropForever' })
    await runDuty()
    await storeSegments(database, [segment(20, 'wiki', 'v2')])
    await post('wiki', [loadForever])
    const { restorable: found } = await restorable({ rules: { wiki: [loadForever] }, markUsedSince: 0 })
    assert.equal((found as { segments: number }).segments, 1)
    assert.equal(await markUsed('wiki', change), 1)
    assert.deepEqual(await unusedDays(), [20])
  })

  it('is undone in slices', async () => {
    const many = Array.from({ length: 4500 }, (_, index) => segment(index + 20))
    await storeSegments(database, many)
    const change = await setRules('wiki', ...lastDays(7))
    assert.equal(await runDuty(), 4500)
    await post('wiki', [loadForever])
    assert.equal(await markUsed('wiki', change), 4500)
    const audits = await database.query<{ payload: string }>(
      sql`SELECT payload FROM audit WHERE type = 'segments' ORDER BY id`,
    )
    assert.deepEqual(
      audits.map(({ payload }) => JSON.parse(payload)),
      [{ markUsed: 2000 }, { markUsed: 2000 }, { markUsed: 500 }],
    )
  })
})

describe('a preview of rules', () => {
  it('reports unused segments that the rules keep, and those that kill tasks have deleted', async () => {
    await storeSegments(
      database,
      [2, 10, 20, 30].map((days) => segment(days)),
    )
    const change = await setRules('wiki', ...lastDays(7))
    await runDuty()
    await database.transaction((transaction) => eraseUnused(transaction, [segment(30).id]))
    await markUnused(database, [segment(2).id], { kind: 'request', identity: 'ann' }, today)
    const body = { rules: { wiki: [loadForever] }, servers: [server] }
    const unused = { segments: 2, bytes: 20, interval: '2026-05-26T00:00:00.000Z/2026-06-06T00:00:00.000Z' }
    const killed = { segments: 1, bytes: 10, interval: '2026-05-16T00:00:00.000Z/2026-05-17T00:00:00.000Z' }
    const requested = {
      segments: 1,
      bytes: 10,
      interval: '2026-06-13T00:00:00.000Z/2026-06-14T00:00:00.000Z',
    }
    const requestedStay = `Datasource [wiki]: 1 segment (10 B) in [${requested.interval}] was marked as unused by a request, not by a rule, so it stays unused`
    assert.deepEqual(await restorable(body), {
      restorable: { included: false, ...unused, killed, requested },
      loaded: 0,
      warnings: [
        `Datasource [wiki]: 2 unused segments (20 B) in [${unused.interval}] would be loaded if marked as used`,
        requestedStay,
      ],
    })
    assert.deepEqual(await restorable({ ...body, markUsedSince: change }), {
      restorable: { included: true, ...unused, killed, requested },
      loaded: 2,
      warnings: [requestedStay],
    })
    // Rules that still drop them keep nothing, and later changes have marked nothing.
    const none = { segments: 0, bytes: 0, interval: null }
    for (const other of [{ rules: { wiki: lastDays(8) } }, { ...body, markUsedSince: change + 1 }])
      assert.deepEqual((await restorable(other)).restorable, {
        included: 'markUsedSince' in other,
        ...none,
        killed: none,
        requested,
      })
  })
})
