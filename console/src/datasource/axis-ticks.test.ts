import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scaleUtc } from 'd3-scale'
import { axisTicks } from './axis-ticks.ts'

const minuteMs = 60_000
const dayMs = 86_400_000
const width = 860
const start = Date.UTC(2026, 0, 1)

for (const [name, spanMs] of [
  ['five minutes', 5 * minuteMs],
  ['an hour', 60 * minuteMs],
  ['a day', dayMs],
  ['nine days', 9 * dayMs],
  ['a year', 365 * dayMs],
  ['ten years', 3650 * dayMs],
] as const) {
  test(`labels of an axis of ${name} are on full minutes, and do not overlap`, () => {
    for (const offset of [0, 0.1, 0.37]) {
      const from = start + offset * spanMs
      const scale = scaleUtc([new Date(from), new Date(from + spanMs)], [0, width])
      const ticks = axisTicks(scale, width)
      assert.ok(ticks.length >= 2, `${ticks.length} ticks`)
      for (const [index, { time, x, isAtStart, isAtEnd }] of ticks.entries()) {
        assert.equal(time.getTime() % minuteMs, 0)
        assert.equal(isAtStart, x < 24)
        const before = ticks[index - 1]
        const gap = before === undefined ? Infinity : x - before.x
        assert.ok(gap >= (before?.isAtStart || isAtEnd ? 108 : 76), `${gap} pixels`)
      }
    }
  })
}
