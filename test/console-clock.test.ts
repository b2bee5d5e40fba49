import assert from 'node:assert/strict'
import { test } from 'node:test'
import { daysAt, lastStop, maxDaysAhead, stopAt } from '../console/src/clock/clock-stops.ts'

test('the slider of the clock stops at each day, later at each week, and finally at each month', () => {
  const cases = [
    [0, 0],
    [1, 1],
    [91, 91],
    [92, 98],
    [lastStop, 3638],
    [lastStop + 1, 3638],
    [-1, 0],
  ] as const
  for (const [position, days] of cases) assert.equal(daysAt(position), days, `position ${position}`)
  assert.equal(maxDaysAhead, 3638)
})

test('the slider shows the stop that is closest to the clock', () => {
  for (let position = 0; position <= lastStop; position += 1) assert.equal(stopAt(daysAt(position)), position)
  const cases = [
    [93, 91],
    [96, 98],
    [735, 728],
    [9999, 3638],
  ] as const
  for (const [days, stop] of cases) assert.equal(daysAt(stopAt(days)), stop, `${days} days`)
})
