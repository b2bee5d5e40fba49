import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calendarOf, type IntervalsByState, yearsOf } from '../console/src/compaction/calendar.ts'

const now = Date.UTC(2026, 5, 15)
const eternity = '-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z'

/** Returns the status of a datasource with intervals in these states. */
const statusOf = (
  intervals: Partial<Record<'awaiting' | 'skipped' | 'compacted', readonly string[]>>,
): IntervalsByState => {
  const listOf = (list: readonly string[] = []) =>
    list.map((interval) => ({ interval, segments: 1, bytes: 10 }))
  return {
    dataSource: 'wiki',
    intervals: {
      awaiting: listOf(intervals.awaiting),
      skipped: listOf(intervals.skipped),
      compacted: listOf(intervals.compacted),
    },
  }
}

test('the calendar has a column for each week, which starts on Monday, and a row for each weekday', () => {
  const [year, ...others] = yearsOf(
    statusOf({ awaiting: ['2026-01-01/2026-01-02'], compacted: ['2026-02-01/2026-03-01'] }),
    now,
  )
  assert.equal(others.length, 0)
  assert.equal(year!.year, 2026)
  assert.equal(year!.days.length, 365)
  const placeOf = (month: number, day: number) => {
    const found = year!.days.find(({ start }) => start === Date.UTC(2026, month - 1, day))!
    return [found.week, found.weekday, found.state]
  }
  // The first of January 2026 is a Thursday.
  assert.deepEqual(placeOf(1, 1), [0, 3, 'awaiting'])
  assert.deepEqual(placeOf(1, 5), [1, 0, 'none'])
  assert.deepEqual(placeOf(2, 1), [4, 6, 'compacted'])
  assert.deepEqual(placeOf(2, 28), [8, 5, 'compacted'])
  assert.deepEqual(placeOf(3, 1), [8, 6, 'none'])
})

test('the calendar leaves out years without data, and shows the newest ten', () => {
  const compacted = [
    '2026-01-01/2026-01-02',
    '2024-02-29/2024-03-01',
    '2017-01-01/2017-01-02',
    '2016-01-01/2016-01-02',
  ]
  const years = yearsOf(statusOf({ compacted }), now)
  assert.deepEqual(
    years.map(({ year, days }) => [year, days.length]),
    [
      [2026, 365],
      [2024, 366],
      [2017, 365],
    ],
  )
})

test('an interval of all time does not stretch the calendars', () => {
  const both = statusOf({ awaiting: [eternity], compacted: ['2026-01-01/2026-01-02'] })
  assert.deepEqual(
    yearsOf(both, now).map(({ year, days }) => [year, days[0]!.state, days[1]!.state]),
    [[2026, 'mixed', 'awaiting']],
  )
  const calendar = calendarOf([statusOf({ awaiting: [eternity] })], now)!
  assert.equal(new Date(calendar.start).toISOString(), '2025-06-15T00:00:00.000Z')
  assert.ok(calendar.rows[0]!.cells.every(({ state }) => state === 'awaiting'))
  assert.equal(calendarOf([statusOf({})], now), undefined)
})
