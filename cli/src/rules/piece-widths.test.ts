import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '@svc/shared/testing'
import { pieceWidths } from './piece-widths.ts'

describe('the pieces of a line', () => {
  const cases: [
    name: string,
    edges: number[],
    columns: number,
    least: number,
    widths: number[],
    isToScale: boolean,
  ][] = [
    ['one has all of it', [0, 10], 20, 5, [20], true],
    ['are to scale where each is seen so', [0, 10, 20, 40], 40, 5, [10, 10, 20], true],
    ['are to scale down to three characters', [0, 3, 40], 40, 5, [3, 37], true],
    ['are stretched below them', [0, 2, 40], 40, 5, [6, 34], false],
    ['may begin anywhere', [-30, -20, -10, 10], 40, 5, [10, 10, 20], true],
    ['are stretched where one would get none', [0, 500, 501, 1001], 41, 5, [18, 5, 18], false],
    ['get as many as all can get', [0, 1, 2, 1000], 10, 5, [3, 3, 4], false],
    ['get one each where there are no more', [0, 1, 2, 1000], 3, 5, [1, 1, 1], false],
    ['that are too many leave out the narrowest', [0, 1, 2, 1000], 2, 5, [0, 0, 2], true],
  ]
  for (const [name, edges, columns, least, widths, isToScale] of cases) {
    test(name, () => assert.deepEqual(pieceWidths(edges, columns, least), { widths, isToScale }))
  }

  test('fill the line, and each is seen where there is a character for each', () => {
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
