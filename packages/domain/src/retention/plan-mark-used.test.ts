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
    name: 'what nothing hides',
    candidates: [segment('a', 0, 1, 'v1'), segment('b', 1, 2, 'v1')],
    used: [],
    marked: ['a', 'b'],
  },
  { name: 'nothing', candidates: [], used: [segment('u', 0, 1, 'v1')], marked: [] },
  {
    name: 'not what a newer used one hides',
    candidates: [segment('a', 0, 1, 'v1')],
    used: [segment('u', 0, 1, 'v2')],
    marked: [],
  },
  {
    name: 'what hides used ones',
    candidates: [segment('a', 0, 1, 'v2')],
    used: [segment('u', 0, 1, 'v1')],
    marked: ['a'],
  },
  {
    name: 'not what another candidate hides',
    candidates: [segment('a', 0, 1, 'v1'), segment('b', 0, 1, 'v2')],
    used: [],
    marked: ['b'],
  },
  {
    name: 'what is hidden in part',
    candidates: [segment('a', 0, 2, 'v1')],
    used: [segment('u', 0, 1, 'v2')],
    marked: ['a'],
  },
  {
    name: 'not what two newer ones hide together',
    candidates: [segment('a', 0, 2, 'v1')],
    used: [segment('u', 0, 1, 'v2'), segment('w', 1, 2, 'v3')],
    marked: [],
  },
  {
    name: 'what an incomplete newer version does not hide',
    candidates: [segment('a', 0, 1, 'v1')],
    used: [segment('u', 0, 1, 'v2', 2)],
    marked: ['a'],
  },
]

describe('marking used takes', () => {
  for (const { name, candidates, used, marked } of cases)
    it(name, () => assert.deepEqual(planMarkUsed(candidates, used), marked))
})
