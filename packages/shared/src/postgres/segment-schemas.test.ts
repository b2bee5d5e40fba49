import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { SegmentColumn } from '@svc/domain/segment'
import { createTestStores, waitUntil } from '../testing/index.ts'
import { loadSegmentSchemas, saveSegmentSchemas, sql } from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores
const parallel = stores.connect(4)

const columns = (...names: string[]): SegmentColumn[] => names.map((name) => ({ name, type: 'string' }))

describe('segment schemas', () => {
  it('are stored once each, and returned in order', async () => {
    const lists = [columns('a'), columns('b'), columns('a'), columns('a', 'b'), []]
    const numbers = await saveSegmentSchemas(database, lists)
    assert.equal(numbers.length, lists.length)
    assert.equal(new Set(numbers).size, 4)
    const stored = await loadSegmentSchemas(database, numbers)
    assert.deepEqual(
      numbers.map((number) => stored.get(number)),
      lists,
    )
    assert.deepEqual(await saveSegmentSchemas(database, lists), numbers)
  })

  it('may be an empty list', async () => {
    assert.deepEqual(await saveSegmentSchemas(database, []), [])
  })

  it('that already exist block no publication, in any order', async () => {
    const [one, other] = [columns('shared', 'one'), columns('shared', 'other')]
    const numbers = await saveSegmentSchemas(database, [one, other])
    // Each transaction has used one of the two schemas before it uses the other.
    const found = await parallel.transaction(async (first) => {
      const begun = await saveSegmentSchemas(first, [one])
      const inBetween = await parallel.transaction(async (second) => {
        await second.query(sql`SET LOCAL lock_timeout = '2s'`)
        return await saveSegmentSchemas(second, [other, one])
      })
      return [begun, inBetween, await saveSegmentSchemas(first, [other])]
    })
    assert.deepEqual(found, [[numbers[0]], [numbers[1], numbers[0]], [numbers[1]]])
  })

  it('that a concurrent publication stores are found after it commits', async () => {
    const lists = ['x', 'y', 'z'].map((name) => columns('new', name))
    let waiting: Promise<number[]> | undefined
    const first = await parallel.transaction(async (transaction) => {
      const numbers = await saveSegmentSchemas(transaction, lists)
      waiting = parallel.transaction((second) => saveSegmentSchemas(second, lists.toReversed()))
      await waitUntil('the second one waits for the first', async () => {
        const rows = await database.query(
          sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
        return rows.length > 0
      })
      return numbers
    })
    assert.deepEqual(await waiting, first.toReversed())
  })
})
