import assert from 'node:assert/strict'
import { after, beforeEach, describe, it, type TestContext } from 'node:test'
import {
  createDatabase,
  type Database,
  loadDataSourcesOfTasks,
  saveTask,
  sql,
  tasksChannel,
} from '@svc/shared/postgres'
import { createTestStores, startTcpGate, waitUntil } from '@svc/shared/testing'
import { type CollectedNotices, collectNotices } from './collected-notices.ts'

const stores = await createTestStores({ after })
const { database } = stores
beforeEach(() => database.query(sql`DELETE FROM tasks`))

const collectTasks = (from: Database) =>
  collectNotices(from, tasksChannel, () => loadDataSourcesOfTasks(from))
const save = (dataSource: string) =>
  saveTask(database, {
    id: dataSource,
    groupId: 'g',
    type: 'kill',
    dataSource,
    priority: 0,
    payload: {},
    submittedBy: '',
  })

/** Waits until changes were taken for all of these datasources, and returns what was taken. */
async function takeUntil(changes: CollectedNotices, ...wanted: string[]): Promise<string[]> {
  const taken = new Set<string>()
  await waitUntil('the changes', async () => {
    // The store may still be unavailable.
    await changes.ready().catch(() => undefined)
    for (const name of changes.take()) taken.add(name)
    return wanted.every((name) => taken.has(name))
  })
  return [...taken].sort()
}

async function throughGate(scope: TestContext) {
  const port = stores.settings('coordinator').get('svc.metadata.storage.connector.port')
  const gate = await startTcpGate(scope, port)
  const settings = stores.settings('coordinator', {
    'svc.metadata.storage.connector.port': String(gate.port),
  })
  const gated = createDatabase(settings, { connections: 2, applicationName: 'gated' })
  scope.after(() => gated.close())
  return { gate, changes: collectTasks(gated) }
}

describe('notices of tasks', () => {
  it('are taken once, since the collector listens', async () => {
    await save('before')
    const changes = collectTasks(database)
    await changes.ready()
    await save('wiki')
    assert.deepEqual(await takeUntil(changes, 'wiki'), ['wiki'])
    await save('koalas')
    assert.deepEqual(await takeUntil(changes, 'koalas'), ['koalas'])
    await changes.stop()
    await save('missed')
    await changes.ready()
    await save('next')
    assert.deepEqual(await takeUntil(changes, 'next'), ['next'])
    await changes.stop()
  })

  it('include all datasources with tasks after the connection was broken', async (context) => {
    const { gate, changes } = await throughGate(context)
    await changes.ready()
    await save('wiki')
    assert.deepEqual(await takeUntil(changes, 'wiki'), ['wiki'])
    await gate.cut()
    await save('koalas')
    await gate.reconnect()
    assert.deepEqual(await takeUntil(changes, 'koalas'), ['koalas', 'wiki'])
  })

  it('are available once the metadata store is', async (context) => {
    const { gate, changes } = await throughGate(context)
    await gate.cut()
    await assert.rejects(changes.ready(), { code: 'unavailable' })
    await gate.reconnect()
    await changes.ready()
    await save('wiki')
    assert.deepEqual(await takeUntil(changes, 'wiki'), ['wiki'])
  })
})
