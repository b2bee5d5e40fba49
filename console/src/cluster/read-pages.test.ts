import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readPages } from './read-pages.ts'

for (const { stored, read, requests } of [
  { stored: 0, read: 0, requests: 1 },
  { stored: 2, read: 2, requests: 1 },
  { stored: 3, read: 3, requests: 2 },
  { stored: 7, read: 7, requests: 3 },
  { stored: 100, read: 9, requests: 3 },
])
  test(`reads ${read} of ${stored} items in ${requests} pages`, async () => {
    const all = Array.from({ length: stored }, (_, index) => index)
    let count = 0
    const items = await readPages({ pageSize: 3, max: 9 }, async (last: number | undefined) => {
      count += 1
      const from = last === undefined ? 0 : last + 1
      return all.slice(from, from + 3)
    })
    assert.deepEqual(items, all.slice(0, read))
    assert.equal(count, requests)
  })
