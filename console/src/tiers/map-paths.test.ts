import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boxPath } from '../box-path.ts'
import { type MapCell, mapPaths } from './map-paths.ts'

const layout = { cell: 10, gap: 2, perRow: 2 }

test('draws the cells of each state and what is filled in each color as one path, grounds first', () => {
  const cells: MapCell[] = [
    { fill: 0.5, color: 1, state: 'idle' },
    { fill: 1.5, color: 2, state: 'busy' },
    { fill: 0.04, color: 1, state: 'failing' },
    { fill: 0.3, color: 1, state: 'idle' },
    { fill: 0.2, color: undefined, state: 'idle' },
  ]
  const boxes = (...all: [x: number, y: number, height: number][]): string =>
    all.map(([x, y, height]) => boxPath(x, y, 10, height)).join('')
  assert.deepEqual(mapPaths(cells, layout), [
    { className: 'ground idle', d: boxes([0, 0, 10], [12, 12, 10], [0, 24, 10]) },
    { className: 'ground busy', d: boxes([12, 0, 10]) },
    { className: 'ground failing', d: boxes([0, 12, 10]) },
    { className: 'tier-1', d: boxes([0, 5, 5], [12, 19, 3]) },
    { className: 'tier-2', d: boxes([12, 0, 10]) },
    { className: 'tier-none', d: boxes([0, 32, 2]) },
  ])
})

test('draws thousands of servers as a few paths, and nothing without servers', () => {
  const cells = Array.from(
    { length: 10_000 },
    (_, index): MapCell => ({ fill: (index % 100) / 99, color: index % 3, state: 'idle' }),
  )
  assert.equal(mapPaths(cells, layout).length, 4)
  assert.deepEqual(mapPaths([], layout), [])
})
