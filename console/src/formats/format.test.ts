import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eternity, formatInterval } from '@svc/domain/time'
import { formatDays, formatRange } from './format.ts'

const start = Date.UTC(2026, 0, 1)
const end = Date.UTC(2026, 1, 1)

for (const [interval, days] of [
  ['2026-01-01T00:00:00.000Z/2026-02-01T00:00:00.000Z', '2026-01-01 to 2026-01-31'],
  ['2026-01-01T06:00:00.000Z/2026-01-01T07:00:00.000Z', '2026-01-01'],
  ['52000-01-01T00:00:00.000Z/52000-01-03T00:00:00.000Z', '52000-01-01 to 52000-01-02'],
  ['-0044-03-15T00:00:00.000Z/-0044-03-16T00:00:00.000Z', '-0044-03-15'],
  [formatInterval(eternity), 'all time'],
  [formatInterval({ start, end: Infinity }), 'since 2026-01-01'],
  [formatInterval({ start: -Infinity, end }), 'until 2026-01-31'],
] as const)
  test(`${interval} is ${days}`, () => assert.equal(formatDays(interval), days))

for (const { range, text } of [
  { range: { start, end }, text: '2026-01-01 to 2026-01-31' },
  { range: { start, end: start + 86_400_000 }, text: '2026-01-01' },
  {
    range: { start: start + 6 * 3_600_000, end: start + 7 * 3_600_000 },
    text: '2026-01-01 06:00 to 2026-01-01 07:00',
  },
  { range: { start, end: start + 3_600_000 }, text: '2026-01-01 to 2026-01-01 01:00' },
  { range: { start: -Infinity, end: Infinity }, text: 'all time' },
])
  test(`a range is ${text}`, () => assert.equal(formatRange(range), text))
