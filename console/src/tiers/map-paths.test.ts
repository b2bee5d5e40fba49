import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  assert.deepEqual(mapPaths(cells, layout), [
    { className: 'ground idle', d: 'M0 0h10v10h-10zM12 12h10v10h-10zM0 24h10v10h-10z' },
    { className: 'ground busy', d: 'M12 0h10v10h-10z' },
    { className: 'ground failing', d: 'M0 12h10v10h-10z' },
    { className: 'tier-1', d: 'M0 5h10v5h-10zM12 19h10v3h-10z' },
    { className: 'tier-2', d: 'M12 0h10v10h-10z' },
    { className: 'tier-none', d: 'M0 32h10v2h-10z' },
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
