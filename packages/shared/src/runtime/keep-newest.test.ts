import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dropOldest, keepNewest } from './keep-newest.ts'

test('a full map loses its oldest entry, and a stored one becomes the newest', () => {
  const map = new Map([
    ['a', 1],
    ['b', 2],
  ])
  keepNewest(map, 'a', 3, 2)
  keepNewest(map, 'c', 4, 2)
  assert.deepEqual(
    [...map],
    [
      ['a', 3],
      ['c', 4],
    ],
  )
})

test('a set loses its oldest entries', () => {
  const set = new Set([1, 2, 3])
  dropOldest(set, 1)
  assert.deepEqual([...set], [3])
})
