import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NumberedSegments } from './numbered-segments.ts'
import { SegmentNumbers } from './segment-numbers.ts'

const ids = [
  'wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_v',
  'wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_v_1',
  'wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_v_2147483647',
  'wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_v_0',
  'wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_v_01',
  'line\nbreak_1',
  '_1',
  '1',
  '',
  '__proto__',
  'ü_12',
]

describe('numbers of segments', () => {
  it('stand for IDs and sizes', () => {
    const numbers = new SegmentNumbers()
    const taken = ids.map((id, size) => numbers.take(id, size))
    assert.equal(new Set(taken).size, ids.length)
    assert.deepEqual(
      taken.map((number) => numbers.idOf(number)),
      ids,
    )
    assert.deepEqual(
      taken.map((number) => numbers.sizeOf(number)),
      [...ids.keys()],
    )
    assert.deepEqual(
      ids.map((id) => numbers.find(id)),
      taken,
    )
    assert.equal(numbers.find('wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_v_2'), -1)
  })

  it('stay the same, with the first size, while someone keeps them', () => {
    const numbers = new SegmentNumbers()
    const number = numbers.take('a_1', 10)
    assert.equal(numbers.take('a_1', 20), number)
    numbers.keep(number)
    numbers.release(number)
    numbers.release(number)
    assert.deepEqual([numbers.find('a_1'), numbers.sizeOf(number)], [number, 10])
    numbers.release(number)
    assert.equal(numbers.find('a_1'), -1)
    assert.equal(numbers.take('b', 30), number)
    assert.deepEqual([numbers.idOf(number), numbers.sizeOf(number), numbers.find('a_1')], ['b', 30, -1])
  })
})

describe('numbered segments', () => {
  it('are listed and reported like those of a real server, and none of their numbers stays in use at the end', () => {
    const numbers = new SegmentNumbers()
    const servers = [0, 1].map(() => ({
      served: new NumberedSegments(numbers),
      truth: new Set<string>(),
      changes: [] as { id: string; change: 'loaded' | 'dropped' }[],
    }))
    for (let step = 0; step < 2000; step++) {
      const { served, truth, changes } = servers[step % 2]!
      const id = ids[(step * step + (step >> 3)) % ids.length]!
      const isLoad = step % 7 < 4
      if (truth.has(id) !== isLoad) changes.push({ id, change: isLoad ? 'loaded' : 'dropped' })
      const segment = numbers.take(id, 1)
      if (isLoad) served.add(segment)
      else served.remove(segment)
      numbers.release(segment)
      if (isLoad) truth.add(id)
      else truth.delete(id)
      assert.deepEqual(served.ids(), [...truth])
    }
    for (const { served, changes } of servers) {
      const { length } = changes
      assert.ok(length > 300, `${length}`)
      assert.equal(served.sequence, length)
      assert.deepEqual(served.since(0), { changes, next: length })
      assert.deepEqual(served.since(length - 2), { changes: changes.slice(-2), next: length })
      assert.deepEqual(served.since(length), { changes: [], next: length })
      assert.equal(served.since(length + 1), undefined)
      served.clear()
    }
    assert.deepEqual(
      ids.map((id) => numbers.find(id)),
      ids.map(() => -1),
    )
  })

  it('free the numbers of changes that are no longer kept', () => {
    const numbers = new SegmentNumbers()
    const served = new NumberedSegments(numbers)
    for (let number = 0; number < 50_000; number++) {
      const segment = numbers.take(`s_${number}`, 1)
      served.add(segment)
      served.remove(segment)
      numbers.release(segment)
    }
    assert.deepEqual([served.sequence, served.since(0)], [100_000, undefined])
    assert.equal(numbers.find('s_1'), -1)
    assert.equal(served.since(99_999)?.changes[0]?.id, 's_49999')
  })

  it('are gone after they are cleared', async () => {
    const numbers = new SegmentNumbers()
    const served = new NumberedSegments(numbers)
    const change = served.nextChange()
    served.add(numbers.take('a', 1))
    await change.happened
    served.clear()
    assert.deepEqual([served.ids(), served.sequence, served.since(0)], [[], 1, undefined])
  })
})
