import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '@svc/shared/testing'
import { pieceWidths } from './piece-widths.ts'

describe('the sections of a timeline', () => {
  const cases: [
    name: string,
    edges: number[],
    columns: number,
    min: number,
    widths: number[],
    isToScale: boolean,
  ][] = [
    ['a single one fills the line', [0, 10], 20, 5, [20], true],
    ['are to scale if all are visible', [0, 10, 20, 40], 40, 5, [10, 10, 20], true],
    ['are to scale down to three characters', [0, 3, 40], 40, 5, [3, 37], true],
    ['are stretched if one would be narrower', [0, 2, 40], 40, 5, [6, 34], false],
    ['can start at any instant', [-30, -20, -10, 10], 40, 5, [10, 10, 20], true],
    ['are stretched if one would have no characters', [0, 500, 501, 1001], 41, 5, [18, 5, 18], false],
    ['have equal widths if there is no room for more', [0, 1, 2, 1000], 10, 5, [3, 3, 4], false],
    ['have one character each if there are no more', [0, 1, 2, 1000], 3, 5, [1, 1, 1], false],
    ['omit the narrowest if there are too many', [0, 1, 2, 1000], 2, 5, [0, 0, 2], true],
  ]
  for (const [name, edges, columns, min, widths, isToScale] of cases) {
    test(name, () => assert.deepEqual(pieceWidths(edges, columns, min), { widths, isToScale }))
  }

  test('fill the line, and all are visible if there are enough characters', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 1e12 }), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(lengths, fc.integer({ min: 20, max: 120 }), (lengthsOfPieces, columns) => {
        const edges = [0]
        for (const length of lengthsOfPieces) edges.push(edges.at(-1)! + length)
        const { widths } = pieceWidths(edges, columns, 11)
        assert.equal(widths.length, lengthsOfPieces.length)
        assert.equal(
          widths.reduce((sum, width) => sum + width, 0),
          columns,
        )
        assert.ok(widths.every((width) => width >= (widths.length > columns ? 0 : 1)))
      }),
    )
  })
})
