import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QueryCache, QueryClient, QueryObserver } from '@tanstack/react-query'
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

test('refetches everything, without canceling the first fetch', async () => {
  const { queries, answer, fetches, shown, end } = followed()
  let rules = 0
  const queryFn = async () => {
    rules += 1
    return rules
  }
  const stop = new QueryObserver(queries, { queryKey: ['rules', 'wiki'], queryFn }).subscribe(() => undefined)
  await new Promise((resolve) => setTimeout(resolve))
  new Refetcher(queries).refetchEverything()
  await new Promise((resolve) => setTimeout(resolve))
  // Rules are refetched while the first inventory is still on its way.
  assert.deepEqual([rules, fetches()], [2, 1])
  await answer()
  assert.deepEqual([shown(), fetches()], [1, 2])
  await answer()
  assert.deepEqual([shown(), fetches()], [2, 2])
  stop()
  end()
})

test('refetches what costs more only once per pause, and not if nothing changed in the pause', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  let fetches = 0
  const refetcher = new Refetcher({
    getQueryCache: () => new QueryCache(),
    isFetching: () => 0,
    invalidateQueries: async () => {
      fetches += 1
    },
  })
  const steps: (readonly [changes: number, passedMs: number, fetches: number])[] = [
    [3, 0, 1],
    [0, 999, 1],
    [0, 1, 2],
    [0, 1000, 2],
    [1, 0, 3],
    [0, 5000, 3],
  ]
  for (const [changes, passedMs, expected] of steps) {
    for (let count = 0; count < changes; count += 1) refetcher.refetchWithPause(1000, 'compactionStatus')
    context.mock.timers.tick(passedMs)
    // The refetch ends.
    await Promise.resolve()
    await Promise.resolve()
    assert.equal(fetches, expected)
  }
})

test('repeats a request that lacked a permission only with everything else', async () => {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } })
  let fetches = 0
  const queryFn = () => {
    fetches += 1
    return Promise.reject(Object.assign(new Error('Missing permission'), { status: 403 }))
  }
  const observer = new QueryObserver(queries, { queryKey: ['access'], queryFn })
  const stop = observer.subscribe(() => undefined)
  await new Promise((resolve) => setTimeout(resolve))
  new Refetcher(queries).refetch('access')
  await new Promise((resolve) => setTimeout(resolve))
  assert.equal(fetches, 1)
  // After a gap in the stream of changes, the user may have the permission.
  new Refetcher(queries).refetchEverything()
  await new Promise((resolve) => setTimeout(resolve))
  assert.equal(fetches, 2)
  stop()
  queries.clear()
})

test('does not wait for a fetch that nothing shows anymore', async () => {
  const { queries, answer, fetches, end } = followed()
  end()
  const slow = queries.fetchQuery({
    queryKey: ['inventory', false],
    queryFn: () => new Promise(() => undefined),
  })
  slow.catch(() => undefined)
  assert.equal(queries.isFetching({ queryKey: ['inventory'] }), 1)
  new Refetcher(queries).refetch('inventory')
  // A loop would never let this timer fire.
  await new Promise((resolve) => setTimeout(resolve))
  assert.equal(fetches(), 1)
  await answer()
  queries.clear()
})
