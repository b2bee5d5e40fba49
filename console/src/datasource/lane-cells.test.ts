import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatInterval, parseInterval } from '@svc/domain/time'
import { unusedBeyond } from './lane-cells.ts'

const range = parseInterval('2026-03-01/2026-04-01')

for (const { name, intervals, expected } of [
  { name: 'none', intervals: [], expected: undefined },
  {
    name: 'only in the range',
    intervals: ['2026-03-01/2026-03-02', '2026-03-31/2026-04-01'],
    expected: undefined,
  },
  {
    name: 'before it',
    intervals: ['2025-01-01/2025-01-02', '2026-03-05/2026-03-06'],
    expected: '2025-01-01/2026-03-06',
  },
  { name: 'after it', intervals: ['2026-05-01/2026-05-02'], expected: '2026-05-01/2026-05-02' },
  { name: 'that reaches into it', intervals: ['2026-02-15/2026-03-15'], expected: '2026-02-15/2026-03-15' },
  {
    name: 'of all time, which has no place on an axis',
    intervals: ['-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z'],
    expected: undefined,
  },
])
  test(`finds unused data outside a range: ${name}`, () => {
    const found = unusedBeyond(
      range,
      intervals.map((interval) => ({ interval })),
    )
    const days = found && formatInterval(found).replaceAll('T00:00:00.000Z', '')
    assert.equal(days, expected)
  })
