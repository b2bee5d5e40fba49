import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sampleDays } from './index.ts'

const source = ['2001-01-01T09:00:00Z,a', '2001-01-01T10:00:00Z,b', '2001-01-02T01:00:00Z,c']
const endMs = Date.parse('2026-03-01')
const sample = (days: number, rows: number) => [...sampleDays(source, { days, rows, endMs })]

describe('sample data', () => {
  it('ends at the given day and keeps the time of day, in order', () => {
    assert.deepEqual(sample(2, 4), [
      '2026-02-27T09:00:00Z,a\n2026-02-27T10:00:00Z,b\n',
      '2026-02-28T01:00:00Z,c\n2026-02-28T09:00:00Z,a\n',
    ])
  })

  for (const [days, rows] of [
    [1, 1],
    [7, 7],
    [7, 100],
    [30, 31],
  ] as const)
    it(`spreads ${rows} rows evenly over ${days} days`, () => {
      const counts = sample(days, rows).map((text) => text.trimEnd().split('\n').length)
      assert.equal(counts.length, days)
      assert.equal(
        counts.reduce((sum, count) => sum + count, 0),
        rows,
      )
      assert.ok(Math.max(...counts) - Math.min(...counts) <= 1)
    })
})
