import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BlockColumn } from './index.ts'

test('a column returns all its numbers after it has grown by several blocks', () => {
  for (const [column, first] of [
    [new BlockColumn(), -3],
    [new BlockColumn(Float64Array), 2 ** 40 + 0.5],
  ] as const) {
    const numbers = Array.from({ length: 40_000 }, (_, index) => first + index)
    for (const number of numbers) column.push(number)
    assert.equal(column.length, numbers.length)
    assert.deepEqual(
      numbers.map((_, index) => column.at(index)),
      numbers,
    )
  }
})
