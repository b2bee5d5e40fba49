import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SegmentTable } from '../inventory/index.ts'
import { segmentId } from '../segment/index.ts'
import { checkedBefore, rowsToCheck } from './index.ts'

const day = 86_400_000

function put(table: SegmentTable, index: number, partitionNum: number, version = 'v1'): number {
  const [start, end] = [index * day, (index + 1) * day]
  const key = { dataSource: 'wiki', interval: { start, end }, version, partitionNum }
  return table.put({ ...key, start, end, id: segmentId(key), partitions: 0, sizeBytes: 1, totalRows: 1 })
}

test('rows are yielded once, the newest first, although segments are added while the caller pauses', () => {
  const table = new SegmentTable()
  const expected: number[] = []
  // Enough rows and intervals to pause both while rows are searched and while groups are sorted.
  for (let index = 0; index < 6000; index += 1)
    for (let partitionNum = 0; partitionNum < 25; partitionNum += 1)
      expected.push(put(table, index, partitionNum))
  expected.reverse()
  const rows: number[] = []
  let pauses = 0
  for (const row of rowsToCheck(table)) {
    if (row !== undefined) {
      rows.push(row)
      continue
    }
    pauses += 1
    for (let partitionNum = 0; partitionNum < 3; partitionNum += 1)
      put(table, 7000 + pauses, partitionNum, 'v2')
  }
  assert.ok(pauses >= 2, `${pauses}`)
  assert.deepEqual(rows, expected)
})

test('of two rows, the one that is yielded first is checked before the other', () => {
  const few = fc.nat(2)
  fc.assert(
    fc.property(fc.array(fc.tuple(few, few, few, few, fc.boolean()), { maxLength: 20 }), (segments) => {
      const table = new SegmentTable()
      for (const [start, days, version, partitionNum, isUsed] of segments) {
        const interval = { start: start * day, end: (start + 1 + days) * day }
        const key = { dataSource: `d${version}`, interval, version: `v${version}`, partitionNum }
        const row = table.put({
          ...key,
          ...interval,
          id: segmentId(key),
          partitions: 0,
          sizeBytes: 1,
          totalRows: 1,
        })
        table.changeRow(row, 0, 1, 0)
        if (!isUsed) table.remove(segmentId(key))
      }
      const isBefore = checkedBefore(table)
      const rows = [...rowsToCheck(table)].filter((row) => row !== undefined)
      for (const [place, row] of rows.entries())
        for (const [otherPlace, other] of rows.entries())
          assert.equal(isBefore(row, other), place < otherPlace)
    }),
  )
})
