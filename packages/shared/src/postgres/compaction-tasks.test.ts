import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { createTestStores } from '../testing/index.ts'
import { knownMigrations, loadCompactTasks, migrateSchema, saveTask, sql } from './index.ts'

const { database } = await createTestStores({ after })

const save = (id: string, context: object) =>
  saveTask(database, {
    id,
    groupId: id,
    type: 'compact',
    dataSource: 'wiki',
    priority: 25,
    payload: { ioConfig: { inputSpec: { type: 'interval', interval: '2026-01-01/P1D' } }, context },
    submittedBy: 'ann',
  })

it('reads tasks with strings that Postgres cannot read in JSON', async () => {
  await save('own', { compaction: { slots: 2 }, note: 'café \u{1f42f} \\u0000 \u0001' })
  await save('nul', { note: 'a\0b' })
  await save('nul-name', { 'a\0b': 1 })
  await save('high', { note: '\ud83d' })
  await save('low', { note: '\udc2f', compaction: { slots: 3 } })
  await save('plain', {})
  const tasks = await loadCompactTasks(database, 0)
  assert.deepEqual(
    tasks.map(({ id, interval, origin }) => ({ id, interval, origin })),
    [
      { id: 'own', interval: '2026-01-01/P1D', origin: { slots: 2 } },
      { id: 'nul', interval: '2026-01-01/P1D', origin: null },
      { id: 'nul-name', interval: '2026-01-01/P1D', origin: null },
      { id: 'high', interval: '2026-01-01/P1D', origin: null },
      { id: 'low', interval: '2026-01-01/P1D', origin: { slots: 3 } },
      { id: 'plain', interval: '2026-01-01/P1D', origin: null },
    ],
  )
})

it('reads how long tasks waited for a worker, and how long they ran', async () => {
  const minutesAgo = (minutes: number | null) =>
    sql`clock_timestamp() - ${minutes}::int * interval '1 minute'`
  const cases = [
    { id: 'waits', state: 'PENDING', started: null, finished: null, times: [60, null] },
    { id: 'runs', state: 'RUNNING', started: 40, finished: null, times: [20, 40] },
    { id: 'done', state: 'SUCCESS', started: 40, finished: 10, times: [20, 30] },
    { id: 'canceled', state: 'FAILED', started: null, finished: 10, times: [50, 0] },
  ] as const
  for (const { id, state, started, finished } of cases) {
    await save(id, {})
    const durationMs = finished === null ? null : ((started ?? finished) - finished) * 60_000
    await database.query(sql`
      UPDATE tasks SET created_at = ${minutesAgo(60)}, state = ${state}, started_at = ${minutesAgo(started)},
        finished_at = ${minutesAgo(finished)}, duration_ms = ${durationMs}
      WHERE id = ${id}`)
  }
  const inMinutes = (ms: number | null): number | null => (ms === null ? null : Math.round(ms / 60_000))
  const found = new Map((await loadCompactTasks(database, 0)).map((task) => [task.id, task]))
  for (const { id, times } of cases) {
    const { waitMs, durationMs } = found.get(id)!
    assert.deepEqual([inMinutes(waitMs), inMinutes(durationMs)], times, id)
  }
})

it('reads tasks that an earlier version stored', async (context) => {
  const { database } = await createTestStores(context, { isEmpty: true })
  await migrateSchema(database, knownMigrations().indexOf('0013_compact-tasks'))
  const ioConfig = { inputSpec: { interval: '2026-01-01/P1D' } }
  for (const [id, type, payload] of [
    ['own', 'compact', { ioConfig, context: { compaction: { slots: 2 } } }],
    ['of a user', 'compact', { ioConfig }],
    ['nul', 'compact', { ioConfig, context: { note: 'a\0b' } }],
    ['other', 'kill', { ioConfig }],
  ] as const) {
    await database.query(sql`
      INSERT INTO tasks (id, group_id, type, datasource, priority, payload, created_at, submitted_by, state)
      VALUES (${id}, ${id}, ${type}, 'wiki', 25, ${JSON.stringify(payload)}, now(), 'ann', 'PENDING')`)
  }
  await migrateSchema(database)
  const tasks = await loadCompactTasks(database, 0)
  assert.deepEqual(
    tasks.map(({ id, interval, origin }) => ({ id, interval, origin })),
    [
      { id: 'own', interval: '2026-01-01/P1D', origin: { slots: 2 } },
      { id: 'of a user', interval: '2026-01-01/P1D', origin: null },
      { id: 'nul', interval: null, origin: null },
    ],
  )
})
