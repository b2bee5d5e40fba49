import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { segmentId } from '../segment/index.ts'
import { copyFlag, SegmentTable } from './index.ts'

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

describe('forEachPending', () => {
  it('visits exactly the entries with a queued load or drop, after any changes', () => {
    const { served, loading, dropping, moving } = copyFlag
    const change = fc.record({
      row: fc.nat(4),
      server: fc.nat(4),
      set: fc.constantFrom(0, served, loading, dropping, loading | moving),
      clear: fc.constantFrom(0, served, loading, dropping, 255),
    })
    fc.assert(
      fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
        const table = new SegmentTable()
        const ids = ['a', 'b', 'c', 'd', 'e'].map((name) => {
          const segment = newSegment(name)
          table.put(segment)
          return segment.id
        })
        for (const { row, server, set, clear } of changes) table.changeCopy(ids[row]!, server, set, clear)
        const { copies } = table
        const pending: number[] = []
        copies.forEachPending((entry) => pending.push(entry))
        assert.equal(copies.pendingCount, pending.length)
        const expected: number[] = []
        for (let entry = 0; entry < copies.limit; entry += 1)
          if (copies.serverOf[entry] !== -1 && (copies.flagsOf[entry]! & (loading | dropping)) !== 0)
            expected.push(entry)
        assert.deepEqual(
          pending.sort((one, other) => one - other),
          expected,
        )
      }),
    )
  })
})
