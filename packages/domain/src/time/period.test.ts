import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  addPeriod,
  formatInstant,
  formatPeriod,
  type Period,
  parseInstant,
  parsePeriod,
  subtractPeriod,
} from './index.ts'

for (const { from, period, earlier } of [
  { from: '2024-02-29T00:00:00.000Z', period: 'P1Y2M3D', earlier: '2022-12-25T00:00:00.000Z' },
  { from: '2024-02-29T00:00:00.000Z', period: 'P13M', earlier: '2023-01-29T00:00:00.000Z' },
  { from: '2025-03-31T23:59:59.999Z', period: 'P1M', earlier: '2025-02-28T23:59:59.999Z' },
  { from: '2025-03-31T23:59:59.999Z', period: 'PT0S', earlier: '2025-03-31T23:59:59.999Z' },
  { from: '2026-01-01T00:00:00.000Z', period: 'P2W', earlier: '2025-12-18T00:00:00.000Z' },
  { from: '2026-01-01T00:00:00.000Z', period: 'PT36H', earlier: '2025-12-30T12:00:00.000Z' },
  { from: '2026-01-01T00:00:00.000Z', period: 'PT0.001S', earlier: '2025-12-31T23:59:59.999Z' },
  { from: '1970-01-01T00:00:00.000Z', period: 'P1970Y', earlier: '0000-01-01T00:00:00.000Z' },
  { from: '2026-01-01T00:00:00.000Z', period: 'P2147483647Y', earlier: '-146136543-09-08T08:23:32.096Z' },
]) {
  test(`[${from}] minus [${period}] is [${earlier}]`, () => {
    assert.equal(formatInstant(subtractPeriod(parseInstant(from), parsePeriod(period))), earlier)
  })
}

for (const { from, period, later } of [
  { from: '2024-01-31T00:00:00.000Z', period: 'P1M', later: '2024-02-29T00:00:00.000Z' },
  { from: '2024-02-29T00:00:00.000Z', period: 'P1Y1D', later: '2025-03-01T00:00:00.000Z' },
  { from: '2026-01-01T00:00:00.000Z', period: 'P300000Y', later: '146140482-04-24T15:36:27.903Z' },
  { from: '-146136543-09-08T08:23:32.096Z', period: 'P1D', later: '-146136543-09-08T08:23:32.096Z' },
]) {
  test(`[${from}] plus [${period}] is [${later}]`, () => {
    assert.equal(formatInstant(addPeriod(parseInstant(from), parsePeriod(period))), later)
  })
}

test('parses a period by unit', () => {
  assert.deepEqual(parsePeriod('P1Y2M3W4DT5H6M7.089S'), {
    years: 1,
    months: 2,
    weeks: 3,
    days: 4,
    hours: 5,
    minutes: 6,
    seconds: 7,
    millis: 89,
  })
})

for (const { text, expected } of [
  { text: 'P1M', expected: 'P1M' },
  { text: 'PT90M', expected: 'PT90M' },
  { text: 'P0D', expected: 'PT0S' },
  { text: 'P0Y1M', expected: 'P1M' },
  { text: 'PT06.5S', expected: 'PT6.500S' },
  { text: 'PT0,25S', expected: 'PT0.250S' },
  { text: 'PT1.0000009S', expected: 'PT1S' },
]) {
  test(`formats [${text}] as [${expected}]`, () => assert.equal(formatPeriod(parsePeriod(text)), expected))
}

test('parses every formatted period back', () => {
  const amount = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2_147_483_647 }))
  const periods: fc.Arbitrary<Period> = fc.record(
    {
      years: amount,
      months: amount,
      weeks: amount,
      days: amount,
      hours: amount,
      minutes: amount,
      seconds: amount,
      millis: fc.integer({ min: 0, max: 999 }),
    },
    { noNullPrototype: true },
  )
  fc.assert(fc.property(periods, (period) => assert.deepEqual(parsePeriod(formatPeriod(period)), period)))
})

for (const text of [
  '',
  'P',
  'PT',
  'P1DT',
  '1 month',
  'P-1D',
  '-P1D',
  '+P1D',
  'P1',
  'P1D ',
  'P1.5D',
  'P1H',
  'P1D1M',
  'p1d',
  'PT.5S',
  'PT1.S',
  'P2147483648D',
  'P1D/P1D',
]) {
  test(`rejects [${text}] as a period`, () => {
    assert.throws(() => parsePeriod(text, 'rules[2].period'), {
      code: 'invalidInput',
      message: `Invalid value [${text}] for [rules[2].period]: expected a non-negative ISO 8601 period such as [P1M], [P7D], or [PT12H]`,
    })
  })
}
