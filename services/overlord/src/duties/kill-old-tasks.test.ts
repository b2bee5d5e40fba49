import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { createCompactionPlanner } from '@svc/shared/compaction'
import { acquireLease, finishAttempt, loadTasks, saveTask, sql } from '@svc/shared/postgres'
import { taskLogFile } from '@svc/shared/task-running'
import { createTestContext, createTestStores, temporaryFolder, waitUntil } from '@svc/shared/testing'
import { createDutyGroups } from './create-duty-groups.ts'
import { eraseOldLogs, eraseOldTasks } from './kill-old-tasks.ts'

const stores = await createTestStores({ after })
const { database } = stores
const dayMs = 86_400_000

before(async () => {
  const candidate = { role: 'overlord', holder: 'h', node: 'n', baseUrl: 'u' }
  assert.equal((await acquireLease(database, candidate, 600_000)).term, 1)
})
beforeEach(async () => {
  await database.query(sql`DELETE FROM tasks`)
})

/** Saves a task that ended some days ago, or an unfinished task. */
async function task(id: string, endedDaysAgo: number | undefined): Promise<void> {
  const created = {
    groupId: id,
    type: 'kill',
    dataSource: 'wiki',
    priority: 0,
    payload: {},
    submittedBy: 'ann',
  }
  await saveTask(database, { id, ...created })
  await database.query(sql`UPDATE tasks SET created_at = now() - interval '1 year' WHERE id = ${id}`)
  if (endedDaysAgo === undefined) return
  await database.query(
    sql`UPDATE tasks SET state = 'RUNNING', attempt = 1, started_at = created_at WHERE id = ${id}`,
  )
  assert.ok(await finishAttempt(database, id, 1, { state: 'SUCCESS', errorMessage: null }))
  await database.query(sql`
    UPDATE tasks SET finished_at = now() - ${endedDaysAgo}::float8 * interval '1 day' WHERE id = ${id}`)
}
const left = async () => (await loadTasks(database, { limit: 10_000 })).map(({ id }) => id).sort()
const contextOf = (properties: Record<string, string> = {}) =>
  createTestContext({ after }, stores, 'overlord', properties)

/** Creates the duty groups that delete something. */
async function killGroups(properties: Record<string, string>) {
  const context = await contextOf(properties)
  const groups = createDutyGroups(context, {
    planner: createCompactionPlanner(context),
    sender: { send: async () => undefined, close: async () => undefined },
    isLeading: () => true,
  })
  return groups.all.filter(({ name }) => name.startsWith('Kill'))
}

describe('finished tasks', () => {
  it('are kept for 90 days by default, while unfinished tasks are never deleted', async () => {
    for (const [id, days] of [
      ['a', 91],
      ['b', 89],
      ['c', 2],
      ['d', undefined],
    ] as const)
      await task(id, days)
    assert.equal(await eraseOldTasks(await contextOf(), 1), 1)
    assert.deepEqual(await left(), ['b', 'c', 'd'])
    const context = await contextOf({ 'svc.indexer.tasks.kill.durationToRetain': 'P10D' })
    assert.equal(await eraseOldTasks(context, 1), 1)
    assert.deepEqual(await left(), ['c', 'd'])
  })

  it('are deleted in batches until none is left', async () => {
    await task('a', 1)
    await database.query(sql`
      INSERT INTO tasks (id, group_id, type, datasource, priority, payload, created_at, submitted_by, state, finished_at)
      SELECT 'old' || n, 'g', 'kill', 'wiki', 0, '{}', to_timestamp(n), 'ann', 'FAILED', to_timestamp(n)
      FROM generate_series(1, 2500) n`)
    assert.equal(await eraseOldTasks(await contextOf(), 1), 2500)
    assert.deepEqual(await left(), ['a'])
  })

  it('are deleted only by the current leader', async () => {
    await task('a', 91)
    await assert.rejects(eraseOldTasks(await contextOf(), 2), /no longer the \[\w+\] leader/)
    const [group] = await killGroups({ 'svc.indexer.tasks.kill.enabled': 'true' })
    group?.wake()
    assert.equal(group?.status().runs, 0)
    assert.deepEqual(await left(), ['a'])
  })
})

describe('task logs', () => {
  const folderWith = async (ages: Readonly<Record<string, number>>) => {
    const directory = path.join(temporaryFolder({ after }), 'logs')
    mkdirSync(directory)
    for (const [id, daysAgo] of Object.entries(ages)) {
      const file = id === 'notes.txt' ? path.join(directory, id) : taskLogFile(directory, id)
      writeFileSync(file, 'done\n')
      utimesSync(file, Date.now() / 1000, (Date.now() - daysAgo * dayMs) / 1000)
    }
    return directory
  }

  it('are kept for 90 days after their last line, while other files and logs of unfinished tasks are never deleted', async () => {
    await task('still at it: 1/2', undefined)
    const directory = await folderWith({ 'a/b': 91, b: 89, 'still at it: 1/2': 300, 'notes.txt': 300 })
    const properties = { 'svc.indexer.logs.directory': directory }
    assert.equal(await eraseOldLogs(await contextOf(properties), () => false), 0)
    assert.equal(await eraseOldLogs(await contextOf(properties), () => true), 1)
    assert.deepEqual(readdirSync(directory).sort(), ['b.log', 'notes.txt', 'still%20at%20it:%201%2F2.log'])
    const shorter = { ...properties, 'svc.indexer.logs.kill.durationToRetain': 'P1D' }
    assert.equal(await eraseOldLogs(await contextOf(shorter), () => true), 1)
    assert.equal(readdirSync(directory).length, 2)
  })

  it('may be missing if no task has run yet', async () => {
    const directory = path.join(temporaryFolder({ after }), 'never')
    const context = await contextOf({ 'svc.indexer.logs.directory': directory })
    assert.equal(await eraseOldLogs(context, () => true), 0)
  })

  it('and tasks are deleted only if this is enabled', async () => {
    const directory = await folderWith({ a: 91 })
    await task('a', 91)
    const where = { 'svc.indexer.logs.directory': directory }
    assert.deepEqual(await killGroups(where), [])
    const on = { 'svc.indexer.logs.kill.enabled': 'true', 'svc.indexer.tasks.kill.enabled': 'true' }
    const groups = await killGroups({ ...where, ...on })
    assert.equal(groups.length, 2)
    for (const group of groups) group.start(1)
    await waitUntil('both are gone', async () => (await left()).length + readdirSync(directory).length === 0)
    await Promise.all(groups.map((group) => group.stop()))
    assert.deepEqual(
      groups.flatMap((group) => group.times()).map(({ duty, runs, failures }) => [duty, runs > 0, failures]),
      [
        ['killFinishedTasks', true, 0],
        ['killTaskLogs', true, 0],
      ],
    )
  })
})
