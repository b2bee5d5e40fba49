import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatInstant, parseInstant } from './index.ts'

const instants = fc.integer({ min: -8.64e15, max: 8.64e15 })

test('formats an instant as ISO 8601 in UTC', () => {
  fc.assert(
    fc.property(fc.integer({ min: Date.UTC(0, 0, 1), max: Date.UTC(9999, 11, 31) }), (instantMs) => {
      assert.equal(formatInstant(instantMs), new Date(instantMs).toISOString())
    }),
  )
})

test('parses every formatted instant back', () => {
  fc.assert(fc.property(instants, (instantMs) => parseInstant(formatInstant(instantMs)) === instantMs))
  for (const end of [-Infinity, Infinity, 8.64e15, -8.64e15, 0])
    assert.equal(parseInstant(formatInstant(end)), end)
})

test('forms without seconds or fractions mean the same as the complete form', () => {
  const instant = fc.date({ min: new Date('0000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  fc.assert(
    fc.property(instant, fc.constantFrom(10, 16, 19, 23), fc.boolean(), (date, length, hasZone) => {
      const text = date.toISOString().slice(0, length)
      const complete = `${text}${'0000-00-00T00:00:00.000'.slice(length)}Z`
      assert.equal(parseInstant(hasZone && length > 10 ? `${text}Z` : text), Date.parse(complete))
    }),
  )
})

test('the calendar agrees with Date in every era', () => {
  fc.assert(
    fc.property(instants, (instantMs) => {
      const date = new Date(instantMs)
      const [, year, month, day] = /^(-?\d+)-(\d\d)-(\d\d)T/.exec(formatInstant(instantMs))!
      assert.deepEqual(
        [Number(year), Number(month), Number(day)],
        [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()],
      )
    }),
    { numRuns: 2000 },
  )
})

for (const { text, expected } of [
  { text: '2026-01-01', expected: Date.UTC(2026, 0, 1) },
  { text: '2026-02', expected: Date.UTC(2026, 1, 1) },
  { text: '2026', expected: Date.UTC(2026, 0, 1) },
  { text: '2026-01-01T05', expected: Date.UTC(2026, 0, 1, 5) },
  { text: '2026-01-01T05:06:07', expected: Date.UTC(2026, 0, 1, 5, 6, 7) },
  { text: '2026-01-01T05:06:07.008Z', expected: Date.UTC(2026, 0, 1, 5, 6, 7, 8) },
  { text: '2026-01-01T05:06:07.008+02:00', expected: Date.UTC(2026, 0, 1, 3, 6, 7, 8) },
  { text: '2026-W01-1', expected: Date.UTC(2025, 11, 29) },
  { text: '2026-032', expected: Date.UTC(2026, 1, 1) },
  { text: '+012026-01-01', expected: Date.UTC(12_026, 0, 1) },
  { text: '12026-01-01T00:00:00.000Z', expected: Date.UTC(12_026, 0, 1) },
  { text: '-146136543-09-08T08:23:32.096Z', expected: -Infinity },
  { text: '146140482-04-24T15:36:27.903Z', expected: Infinity },
]) {
  test(`parses [${text}] as an instant`, () => assert.equal(parseInstant(text), expected))
}

for (const text of [
  '',
  ' ',
  'yesterday',
  '10:00',
  '1030Z',
  '103000Z',
  'T10:00',
  '2026-02-30',
  '2026-02-30T00:00:00.000Z',
  '2026-13-01T00:00:00.000Z',
  '2026-01-01T25:00:00.000Z',
  // Joda-Time, which Druid 37 uses, has no hour 24 either.
  '2026-01-01T24',
  '2026-01-01T2400',
  '2026-01-01T24:00+00:00',
  '2026-01-01T24:00:00.000Z',
  '2026-01-01T24:00',
  '2026-01-01T10:60',
  '2026-01-01T',
  '2026-01-01 00:00',
  '2026-01-01T00:00[Europe/Paris]',
  '2026-01-01\n',
  '999999-01-01T00:00:00.000Z',
  '146140482-04-24T15:36:27.904Z',
  '9'.repeat(100_000),
]) {
  test(`rejects [${text.slice(0, 40)}] as an instant`, () => {
    assert.throws(() => parseInstant(text, 'startTime'), {
      code: 'invalidInput',
      message: /^Invalid value \[[\s\S]{0,121}\] for \[startTime\]: expected an ISO 8601 date/,
    })
  })
}

test('parsing throws only invalidInput for any text', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[-+\dTWZ:.,P/]{0,40}$/)), (text) => {
      try {
        assert.ok(!Number.isNaN(parseInstant(text)))
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'invalidInput')
      }
    }),
    { numRuns: 2000 },
  )
})
