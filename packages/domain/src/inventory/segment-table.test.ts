import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { segmentId } from '../segment/index.ts'
import { SegmentTable } from './index.ts'

const day = 86_400_000

const newSegment = (dataSource: string) => {
  const key = { dataSource, interval: { start: 0, end: day }, version: 'v_1', partitionNum: 2 }
  return { ...key, start: 0, end: day, id: segmentId(key), partitions: 0, sizeBytes: 1, totalRows: 1 }
}

describe('the datasource of a segment', () => {
  const names = ['wiki', 'wiki_edits', `wiki_${new Date(0).toISOString()}`]

  it('is known while the segment is used and afterwards, whatever the name looks like', () => {
    const table = new SegmentTable()
    for (const name of names) table.put(newSegment(name))
    const told = () => names.map((name) => table.datasourceNameOf(newSegment(name).id))
    assert.deepEqual(told(), names)
    for (const name of names) table.remove(newSegment(name).id)
    assert.deepEqual(told(), names)
  })

  it('is not known of what was never used', () => {
    assert.equal(new SegmentTable().datasourceNameOf(newSegment('wiki').id), undefined)
  })
})
