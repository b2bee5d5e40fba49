import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { segmentId } from '../segment/index.ts'
import { SegmentTable } from './index.ts'

const day = 86_400_000

const newSegment = (dataSource: string) => {
  const key = { dataSource, interval: { start: 0, end: day }, version: 'v_1', partitionNum: 2 }
  return { ...key, start: 0, end: day, id: segmentId(key), partitions: 0, sizeBytes: 1, totalRows: 1 }
}

describe('datasourceNameOf', () => {
  const names = ['wiki', 'wiki_edits', `wiki_${new Date(0).toISOString()}`]

  it('returns the datasource of used and formerly used segments, whatever its name', () => {
    const table = new SegmentTable()
    for (const name of names) table.put(newSegment(name))
    const found = () => names.map((name) => table.datasourceNameOf(newSegment(name).id))
    assert.deepEqual(found(), names)
    for (const name of names) table.remove(newSegment(name).id)
    assert.deepEqual(found(), names)
  })

  it('returns undefined for a segment that was never used', () => {
    assert.equal(new SegmentTable().datasourceNameOf(newSegment('wiki').id), undefined)
  })
})
