import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Segment } from '../segment/index.ts'
import { planMarkUsed } from './index.ts'

const segment = (id: string, start: number, end: number, version: string, partitions = 1): Segment => ({
  id,
  dataSource: 'wiki',
  interval: { start, end },
  version,
  partitionNum: 0,
  partitions,
  sizeBytes: 1,
  totalRows: 1,
})

const cases: readonly { name: string; candidates: Segment[]; used: Segment[]; marked: string[] }[] = [
  {
    name: 'marks segments that nothing overshadows',
    candidates: [segment('a', 0, 1, 'v1'), segment('b', 1, 2, 'v1')],
    used: [],
    marked: ['a', 'b'],
  },
  { name: 'marks nothing without candidates', candidates: [], used: [segment('u', 0, 1, 'v1')], marked: [] },
  {
    name: 'skips segments that a newer used segment overshadows',
    candidates: [segment('a', 0, 1, 'v1')],
    used: [segment('u', 0, 1, 'v2')],
    marked: [],
  },
  {
    name: 'marks segments that overshadow used segments',
    candidates: [segment('a', 0, 1, 'v2')],
    used: [segment('u', 0, 1, 'v1')],
    marked: ['a'],
  },
  {
    name: 'skips segments that another candidate overshadows',
    candidates: [segment('a', 0, 1, 'v1'), segment('b', 0, 1, 'v2')],
    used: [],
    marked: ['b'],
  },
  {
    name: 'marks partially overshadowed segments',
    candidates: [segment('a', 0, 2, 'v1')],
    used: [segment('u', 0, 1, 'v2')],
    marked: ['a'],
  },
  {
    name: 'skips segments that two newer segments overshadow together',
    candidates: [segment('a', 0, 2, 'v1')],
    used: [segment('u', 0, 1, 'v2'), segment('w', 1, 2, 'v3')],
    marked: [],
  },
  {
    name: 'marks segments that only an incomplete newer version covers',
    candidates: [segment('a', 0, 1, 'v1')],
    used: [segment('u', 0, 1, 'v2', 2)],
    marked: ['a'],
  },
]

describe('marking segments as used', () => {
  for (const { name, candidates, used, marked } of cases)
    it(name, () => assert.deepEqual(planMarkUsed(candidates, used), marked))
})
