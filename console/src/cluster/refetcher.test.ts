import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { Refetcher } from './refetcher.ts'

/** A query whose fetches end when `answer` is called, with the number of the fetch. */
function followed() {
  const queries = new QueryClient()
  const waiting: (() => void)[] = []
  let fetches = 0
  const queryFn = () =>
    new Promise<number>((resolve) => {
      fetches += 1
      const number = fetches
      waiting.push(() => resolve(number))
    })
  const observer = new QueryObserver(queries, { queryKey: ['inventory', true], queryFn })
  const stop = observer.subscribe(() => undefined)
  const answer = async () => {
    waiting.shift()!()
    await new Promise((resolve) => setTimeout(resolve))
  }
  return {
    queries,
    answer,
    fetches: () => fetches,
    shown: () => observer.getCurrentResult().data,
    end: () => {
      stop()
      queries.clear()
    },
  }
}

test('shows the result of a refetch even if there are changes in the meantime, and refetches once more', async () => {
  const { queries, answer, fetches, shown, end } = followed()
  const refetcher = new Refetcher(queries)
  await answer()
  for (let change = 0; change < 5; change += 1) refetcher.refetch('inventory')
  await answer()
  assert.deepEqual([shown(), fetches()], [2, 3])
  await answer()
  assert.deepEqual([shown(), fetches()], [3, 3])
  refetcher.refetch('inventory')
  await answer()
  assert.deepEqual([shown(), fetches()], [4, 4])
  end()
})

test('refetches after a fetch that may have begun before the change', async () => {
  const { queries, answer, fetches, shown, end } = followed()
  new Refetcher(queries).refetch('inventory')
  await answer()
  assert.deepEqual([shown(), fetches()], [1, 2])
  await answer()
  assert.deepEqual([shown(), fetches()], [2, 2])
  end()
})
