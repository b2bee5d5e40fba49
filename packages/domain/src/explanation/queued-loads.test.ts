import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyFlag } from '../inventory/index.ts'
import { segmentId } from '../segment/index.ts'
import { tableOf } from '../testing/index.ts'
import { queuedLoads } from './queued-loads.ts'

test('only segments that are in the queue come before a segment', () => {
  const interval = { start: 0, end: 86_400_000 }
  const segments = Array.from({ length: 6 }, (_, partitionNum) => {
    const key = { dataSource: 'wiki', interval, version: 'v1', partitionNum }
    return { ...key, id: segmentId(key), partitions: 6, sizeBytes: 10 ** partitionNum, totalRows: 1 }
  })
  const table = tableOf(segments, [])
  const rowOf = (partitionNum: number): number => table.rowOf(segments[partitionNum]!.id)
  // Partition 1 was requested earlier. One run requested 4, 2, and 0, in this order. The server does not load 3 and 5.
  for (const [partitionNum, sentAt] of [
    [1, 1000],
    [4, 2000],
    [2, 2000],
    [0, 2000],
  ] as const) {
    const entry = table.changeRow(rowOf(partitionNum), 0, copyFlag.loading, 0)
    table.noteSent(entry, sentAt)
    // Another server got all of them in one run.
    table.noteSent(table.changeRow(rowOf(partitionNum), 1, copyFlag.loading, 0), 3000)
  }
  const before = (partitionNum: number, server = 0) => {
    const { before, bytesBefore } = queuedLoads(table, rowOf(partitionNum), [server, 1]).get(server)!
    return { before, bytesBefore }
  }
  assert.deepEqual(before(1), { before: 0, bytesBefore: 0 })
  assert.deepEqual(before(4), { before: 1, bytesBefore: 10 })
  assert.deepEqual(before(2), { before: 2, bytesBefore: 10_010 })
  assert.deepEqual(before(0), { before: 3, bytesBefore: 10_110 })
  assert.deepEqual(before(4, 1), { before: 0, bytesBefore: 0 })
  assert.deepEqual(before(1, 1), { before: 2, bytesBefore: 10_100 })
})
