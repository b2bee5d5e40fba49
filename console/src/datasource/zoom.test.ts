import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scaleUtc } from 'd3-scale'
import { axisTicks } from './axis-ticks.ts'
import { shifted, zoomed } from './zoom.ts'

const year = 365 * 86_400_000
const range = { start: 0, end: year }

test('zooms around an instant, but not into less than five minutes', () => {
  assert.deepEqual(zoomed(range, 2, year / 2), { start: -year / 2, end: 1.5 * year })
  assert.deepEqual(zoomed(range, 0.5, 0), { start: 0, end: year / 2 })
  assert.deepEqual(zoomed(range, 0, 0), { start: 0, end: 300_000 })
})

test('stays within the dates that can be shown, however often the axis is zoomed out or moved', () => {
  for (const step of [
    (from: typeof range) => zoomed(from, 2, from.start),
    (from: typeof range) => shifted(from, from.end - from.start),
    (from: typeof range) => shifted(zoomed(from, 2, from.end), from.start - from.end),
  ]) {
    let shown = range
    for (let times = 0; times < 1e6 && Math.abs(shown.end) < 3e15 && shown.start > -3e15; times += 1)
      shown = step(shown)
    for (let times = 0; times < 3; times += 1) shown = step(shown)
    assert.ok(shown.start < shown.end)
    for (const instant of [shown.start, shown.end]) assert.ok(new Date(instant).toISOString())
    for (const width of [200, 900]) {
      const scale = scaleUtc([new Date(shown.start), new Date(shown.end)], [0, width])
      assert.ok(axisTicks(scale, width).length > 0, `${shown.start} to ${shown.end}`)
    }
  }
})
