import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { SegmentColumn } from '@svc/domain/segment'
import { createTestStores, waitUntil } from '../testing/index.ts'
import { loadSegmentSchemas, saveSegmentSchemas, sql } from './index.ts'

const stores = await createTestStores({ after })
const { database } = stores
const parallel = stores.connect(4)

const columns = (...names: string[]): SegmentColumn[] => names.map((name) => ({ name, type: 'string' }))

describe('lists of columns of segments', () => {
  it('are stored once each, and answered in their order', async () => {
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

  it('need nothing where there is none', async () => {
    assert.deepEqual(await saveSegmentSchemas(database, []), [])
  })

  it('that are stored hold nobody up, in whatever order publications take them', async () => {
    const [one, other] = [columns('shared', 'one'), columns('shared', 'other')]
    const numbers = await saveSegmentSchemas(database, [one, other])
    // Each has taken one of the two when it comes to the other one's.
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

  it('that another publication stores at the same time are found when that is over', async () => {
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
