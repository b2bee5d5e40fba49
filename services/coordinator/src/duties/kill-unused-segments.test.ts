import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { payloadOf, type Segment, segmentId } from '@svc/domain/segment'
import { coordinatorConfigName } from '@svc/shared/coordinator-dynamic-config'
import { acquireLease, copySegments, loadConfig, markUnused, saveConfig, sql } from '@svc/shared/postgres'
import { createTestContext, createTestStores } from '@svc/shared/testing'
import { killUnusedSegments } from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores
const dayMs = 86_400_000
const now = Date.UTC(2026, 5, 15)

beforeEach(async () => {
  for (const table of [sql`segments`, sql`tasks`, sql`leader_leases`, sql`dynamic_configs`])
    await database.query(sql`DELETE FROM ${table}`)
  const candidate = { role: 'coordinator', holder: 'h', node: 'n', baseUrl: 'u' }
  await acquireLease(database, candidate, 60_000)
})

/** Stores a segment of the day `daysAgo` days ago that has been unused for `unusedForDays` days. */
async function unused(dataSource: string, daysAgo: number, unusedForDays: number | undefined): Promise<void> {
  const start = now - daysAgo * dayMs
  const key = { dataSource, interval: { start, end: start + dayMs }, version: 'v1', partitionNum: 0 }
  const segment: Segment = { ...key, id: segmentId(key), partitions: 1, sizeBytes: 10, totalRows: 1 }
  const stored = {
    loadSpec: { type: 'local' as const, path: 'x', checksum: 'y' },
    dimensions: '',
    metrics: '',
  }
  await database.transaction((transaction) =>
    copySegments(transaction, [{ segment, payload: payloadOf(segment, stored) }], undefined, 0),
  )
  if (unusedForDays !== undefined)
    await markUnused(database, [segment.id], { kind: 'request', identity: 'me' }, now - unusedForDays * dayMs)
}

async function runDuty(properties: Record<string, string> = {}, term = 1) {
  const context = await createTestContext({ after }, stores, 'coordinator', properties)
  await database.query(sql`
    INSERT INTO nodes (name, role, service, host, details)
    VALUES ('o', 'overlord', 'svc/overlord', 'h', '{"workerCapacity": 40}') ON CONFLICT DO NOTHING`)
  await context.discovery.refresh()
  await killUnusedSegments({ ...context, clock: { now: () => now } }, database).run(term)
  const tasks = await database.query<{ payload: Record<string, unknown> }>(
    sql`SELECT payload FROM tasks ORDER BY datasource`,
  )
  return tasks.map(({ payload }) => payload)
}
const intervalOf = (first: number, last: number) =>
  [first, last - 1].map((daysAgo) => new Date(now - daysAgo * dayMs).toISOString()).join('/')

describe('segments that have been unused for a long time', () => {
  it('are deleted by one task per datasource, starting with the oldest ones', async () => {
    await unused('wiki', 200, 40)
    await unused('wiki', 150, 31)
    await unused('wiki', 120, 29)
    await unused('wiki', 80, 40)
    await unused('wiki', 300, undefined)
    await unused('koalas', 100, 30)
    await unused('news', 100, undefined)
    const maxUsedStatusLastUpdatedTime = new Date(now - 30 * dayMs).toISOString()
    assert.deepEqual(await runDuty(), [
      {
        type: 'kill',
        dataSource: 'koalas',
        interval: intervalOf(100, 100),
        limit: 100,
        maxUsedStatusLastUpdatedTime,
      },
      {
        type: 'kill',
        dataSource: 'wiki',
        interval: intervalOf(200, 150),
        limit: 100,
        maxUsedStatusLastUpdatedTime,
      },
    ])
  })

  it('are limited to the max number per task', async () => {
    for (const daysAgo of [200, 190, 180]) await unused('wiki', daysAgo, 40)
    const [task] = await runDuty({ 'svc.coordinator.kill.maxSegments': '2' })
    assert.deepEqual([task!.interval, task!.limit], [intervalOf(200, 190), 2])
  })

  it('include recent data if ignoreDurationToRetain is set', async () => {
    await unused('wiki', 5, 40)
    assert.deepEqual(await runDuty(), [])
    const [task] = await runDuty({ 'svc.coordinator.kill.ignoreDurationToRetain': 'true' })
    assert.equal(task!.interval, intervalOf(5, 5))
  })

  it('wait for a running task of their datasource and for a free slot', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await unused(name, 200, 40)
    assert.equal((await runDuty()).length, 4, '10% of 40 slots')
    assert.equal((await runDuty()).length, 4)
    await database.query(sql`UPDATE tasks SET state = 'SUCCESS'`)
    assert.equal((await runDuty()).length, 8)
  })

  it('are limited to the listed datasources if there is a list', async () => {
    for (const name of ['a', 'b']) await unused(name, 200, 40)
    const audit = { author: '', comment: '', identity: '', ip: '' }
    const value = JSON.stringify({ killDataSourceWhitelist: ['b'] })
    await saveConfig(database, coordinatorConfigName, value, 0, audit, now)
    assert.ok(await loadConfig(database, coordinatorConfigName))
    assert.deepEqual(
      (await runDuty()).map(({ dataSource }) => dataSource),
      ['b'],
    )
  })

  it('are not deleted by a former leader', async () => {
    await unused('wiki', 200, 40)
    await assert.rejects(() => runDuty({}, 7))
    assert.deepEqual(await database.query(sql`SELECT id FROM tasks`), [])
  })
})
