import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { segmentId } from '@svc/domain/segment'
import { createTestStores, storeSegments, waitUntil } from '../testing/index.ts'
import { countTableChanges, saveConfig, sql } from './index.ts'

const { database } = await createTestStores({ after })
const audit = { author: '', comment: '', identity: '', ip: '' }
const key = { dataSource: 'wiki', interval: { start: 0, end: 1 }, version: 'v1', partitionNum: 0 }
const segment = { ...key, id: segmentId(key), partitions: 1, sizeBytes: 1, totalRows: 1 }

test('each change to a watched table is counted once it is committed', async () => {
  const changes = countTableChanges(database)
  assert.equal(changes.countOf('segments'), undefined)
  await changes.start()
  const counts = () => [changes.countOf('segments'), changes.countOf('dynamic_configs')] as const
  assert.deepEqual(counts(), [0, 0])
  const untilCounted = (expected: readonly [number, number]) =>
    waitUntil('the change', async () => {
      const [segments, configs] = counts()
      return segments! >= expected[0] && configs! >= expected[1]
    })
  await storeSegments(database, [segment])
  await untilCounted([1, 0])
  await database.query(sql`UPDATE segments SET used = false`)
  await untilCounted([2, 0])
  await database.query(sql`DELETE FROM segments`)
  await untilCounted([3, 0])
  assert.deepEqual(counts(), [3, 0])
  await saveConfig(database, 'any', '{}', 0, audit, 0)
  await untilCounted([3, 1])
})

test('every change of another connection that has been committed is counted after catching up', async () => {
  const changes = countTableChanges(database)
  await changes.catchUp()
  await changes.start()
  for (let round = 0; round < 200; round += 1) {
    const before = changes.countOf('segments')!
    await database.query(sql`UPDATE segments SET used = used`)
    await changes.catchUp()
    assert.equal(changes.countOf('segments'), before + 1)
  }
})
