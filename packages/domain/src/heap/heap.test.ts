import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Heap } from './heap.ts'

test('returns entries in order, whatever is pushed in between', () => {
  const operation = fc.oneof(fc.integer(), fc.constant('pop' as const))
  fc.assert(
    fc.property(fc.array(operation), (operations) => {
      const heap = new Heap<number>((a, b) => a < b)
      const expected: number[] = []
      for (const one of operations) {
        if (one === 'pop') assert.equal(heap.pop(), expected.shift())
        else {
          heap.push(one)
          expected.push(one)
          expected.sort((a, b) => a - b)
        }
        assert.equal(heap.size, expected.length)
        assert.equal(heap.first, expected[0])
      }
    }),
  )
})

test('returns entries in order after one of them has moved up', () => {
  const heapOf = (numbers: readonly number[]) => {
    const heap = new Heap<{ value: number }>((a, b) => a.value < b.value)
    const entries = numbers.map((value) => ({ value }))
    for (const entry of entries) heap.push(entry)
    return { heap, entries }
  }
  const changes = fc.array(fc.record({ at: fc.nat(9), by: fc.nat(20) }))
  fc.assert(
    fc.property(fc.array(fc.integer(), { maxLength: 10 }), changes, (numbers, given) => {
      const { heap, entries } = heapOf(numbers)
      for (const { at, by } of given) {
        const entry = entries[at]
        if (entry === undefined) continue
        entry.value -= by
        heap.moveUp(entry)
      }
      heap.moveUp({ value: -Infinity })
      const found = entries.map(() => heap.pop()?.value)
      assert.deepEqual(
        found,
        entries.map(({ value }) => value).sort((a, b) => a - b),
      )
      assert.equal(heap.pop(), undefined)
    }),
  )
})

test('can be filled again after it is cleared', () => {
  const heap = new Heap<string>((a, b) => a < b)
  heap.push('b')
  heap.clear()
  assert.equal(heap.pop(), undefined)
  heap.push('c')
  heap.push('a')
  assert.equal(heap.pop(), 'a')
})
