import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NamedValues } from './named-values.ts'

const sizes = (given: Record<string, number>) => new Map(Object.entries(given))

describe('the named values of a label', () => {
  it('are the first ones while there is room', () => {
    const values = new NamedValues(2)
    assert.deepEqual(
      ['a', 'b', 'c', 'a'].map((value) => values.nameOf(value)),
      ['a', 'b', 'other', 'a'],
    )
  })

  it('are the largest if many appear at once', () => {
    const values = new NamedValues(2)
    assert.deepEqual(values.settle(sizes({ a: 1, b: 3, c: 2 })), [])
    assert.deepEqual(
      ['a', 'b', 'c'].map((value) => values.nameOf(value)),
      ['other', 'b', 'c'],
    )
  })

  it('keep their series as long as they exist, even if others become larger', () => {
    const values = new NamedValues(2)
    values.settle(sizes({ a: 1, b: 2 }))
    assert.deepEqual(values.settle(sizes({ a: 1, b: 2, c: 9 })), [])
    assert.equal(values.nameOf('c'), 'other')
    assert.deepEqual(values.settle(sizes({ b: 2, c: 9, d: 10 })), ['a'])
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map((value) => values.nameOf(value)),
      ['other', 'b', 'other', 'd'],
    )
  })
})
