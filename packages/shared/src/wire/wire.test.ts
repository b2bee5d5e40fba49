import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Failure } from '@svc/domain/failure'
import { type Reader, readFields } from '@svc/domain/validation'
import {
  integerParameter,
  intervalParameter,
  positiveCount,
  presence,
  presenceUnlessFalse,
  severalOf,
  textParameter,
  withExactLimits,
} from './index.ts'

/** Returns the value of the parameter `name`, or the message of the failure. */
function readParameter(read: Reader<unknown>, name: string, given: unknown): unknown {
  try {
    return (readFields({ [name]: read })({ [name]: given }, '') as Record<string, unknown>)[name]
  } catch (error) {
    const { code, message, context } = error as Failure
    assert.equal(code, 'invalidInput')
    assert.equal(context.field, name)
    return message
  }
}

describe('a query parameter', () => {
  const rows: readonly [name: string, read: Reader<unknown>, given: unknown, expected: unknown][] = [
    ['is present when empty', presence, '', true],
    ['is present when false', presence, 'false', true],
    ['is present when repeated', presence, ['', ''], true],
    ['is absent when undefined', presence, undefined, false],
    ['that overrides is present when empty', presenceUnlessFalse, '', true],
    ['that overrides is absent when false', presenceUnlessFalse, 'false', false],
    ['that overrides is absent when false twice', presenceUnlessFalse, ['false', 'false'], false],
    ['that overrides is present when repeated', presenceUnlessFalse, ['false', ''], true],
    ['that overrides is absent when undefined', presenceUnlessFalse, undefined, false],
    ['accepts a count', positiveCount(), '17', 17],
    ['accepts a large count', positiveCount(), '999999999', 999_999_999],
    ['accepts a negative integer', integerParameter(-5, 5), '-5', -5],
    ['accepts 0', integerParameter(0, 5), '0', 0],
    ['accepts one of several texts', severalOf(textParameter), 'a', ['a']],
    ['accepts several texts', severalOf(textParameter), ['a', 'b'], ['a', 'b']],
  ]
  for (const [name, read, given, expected] of rows)
    it(name, () => assert.deepEqual(readParameter(read, 'count', given), expected))

  for (const given of ['0', '-1', '01', '1.0', '1e3', ' 1', '', '1000000000', 'x', '٣', ['1', '2'], 3]) {
    it(`rejects the count [${given}]`, () => {
      assert.match(
        String(readParameter(positiveCount(), 'count', given)),
        /^Invalid value \[.*\] for \[count\]: expected (an integer from 1 to 999999999|a single string)$/,
      )
    })
  }

  it('rejects a count above its own limit', () =>
    assert.equal(
      readParameter(positiveCount(10), 'limit', '11'),
      'Invalid value [11] for [limit]: expected an integer from 1 to 10',
    ))

  it('accepts an interval', () => {
    assert.deepEqual(readParameter(intervalParameter, 'interval', '2026-01-01/P1D'), {
      start: Date.UTC(2026, 0, 1),
      end: Date.UTC(2026, 0, 2),
    })
    assert.match(String(readParameter(intervalParameter, 'interval', 'tomorrow')), /tomorrow/)
    assert.match(
      String(readParameter(intervalParameter, 'interval', ['a', 'b'])),
      /expected a single string$/,
    )
  })
})

describe('the JSON of a value', () => {
  const max = '9223372036854775807'
  const rows: readonly [name: string, value: unknown, expected: string][] = [
    ['has exact 64-bit limits', { maxTotalRows: 2 ** 63 }, `{"maxTotalRows":${max}}`],
    [
      'has exact limits at any depth',
      [{ a: { maxTotalRows: JSON.parse(max), b: 1 } }],
      `[{"a":{"maxTotalRows":${max},"b":1}}]`,
    ],
    ['does not change other limits', { maxTotalRows: 2 ** 53 - 1 }, '{"maxTotalRows":9007199254740991}'],
    [
      'does not change larger numbers',
      { maxTotalRows: 9223372036854776e4 },
      '{"maxTotalRows":92233720368547760000}',
    ],
    ['does not change other fields', { rows: 2 ** 63 }, '{"rows":9223372036854776000}'],
    [
      'does not change strings',
      ['"maxTotalRows":9223372036854776000', { '"maxTotalRows': 2 ** 63 }],
      String.raw`["\"maxTotalRows\":9223372036854776000",{"\"maxTotalRows":9223372036854776000}]`,
    ],
  ]
  for (const [name, value, expected] of rows) {
    it(name, () => {
      assert.equal(withExactLimits(JSON.stringify(value)), expected)
      assert.deepEqual(JSON.parse(expected), value)
    })
  }
  it('has exact limits with indentation', () =>
    assert.equal(
      withExactLimits(JSON.stringify({ maxTotalRows: 2 ** 63 }, null, 2)),
      `{\n  "maxTotalRows": ${max}\n}`,
    ))
})
