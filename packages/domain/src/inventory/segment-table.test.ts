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

describe('queuedLoadsOf', () => {
  it('returns the loads in the queue of a server with the current sizes of their segments, after any changes', () => {
    const { served, loading, dropping, moving } = copyFlag
    const names = ['a', 'b', 'c']
    const name = fc.constantFrom(...names)
    const step = fc.oneof(
      fc.record({ kind: fc.constant('put' as const), name, sizeBytes: fc.nat(9) }),
      fc.record({ kind: fc.constant('remove' as const), name }),
      fc.record({
        kind: fc.constant('change' as const),
        name,
        server: fc.nat(2),
        set: fc.constantFrom(0, served, loading, dropping, loading | moving),
        clear: fc.constantFrom(0, served, loading, dropping, 255),
        sizeBytes: fc.nat(9),
      }),
      fc.record({ kind: fc.constant('clear' as const), server: fc.nat(2) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const table = new SegmentTable()
        for (const one of steps) {
          if (one.kind === 'put') table.put({ ...newSegment(one.name), sizeBytes: one.sizeBytes })
          else if (one.kind === 'remove') table.remove(newSegment(one.name).id)
          else if (one.kind === 'clear') table.clearServers(new Set([one.server]))
          else if (table.changeCopy(newSegment(one.name).id, one.server, one.set, one.clear) >= 0)
            table.noteSize(table.rowOf(newSegment(one.name).id), one.sizeBytes)
        }
        for (const server of [0, 1, 2]) {
          const expected = { count: 0, sizeBytes: 0 }
          for (const row of names.map((one) => table.rowOf(newSegment(one).id))) {
            if (row < 0 || (table.copies.flags(row, server) & (loading | dropping)) !== loading) continue
            expected.count += 1
            expected.sizeBytes += table.sizeOf[row]!
          }
          assert.equal(table.queuedLoadsOf(server), expected.count)
          assert.equal(table.queuedLoadBytesOf(server), expected.sizeBytes)
        }
      }),
    )
  })
})
