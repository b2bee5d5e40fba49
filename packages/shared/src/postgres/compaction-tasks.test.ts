import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { createTestStores } from '../testing/index.ts'
import { loadCompactTasks, saveTask } from './index.ts'

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

it('reads tasks next to those with strings that Postgres cannot read', async () => {
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
      { id: 'plain', interval: '2026-01-01/P1D', origin: null },
    ],
  )
})
