import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Failure } from '@svc/domain/failure'
import { z } from 'zod'
import { intervalParameter, parseJson, positiveCount, presence, withExactLimits } from './index.ts'

/** Returns the value that a schema parses, or the field and message of the failure. */
function parsed(schema: z.ZodType, json: unknown, hideValues = false): unknown {
  try {
    return parseJson(schema, json, { subject: 'body', hideValues })
  } catch (error) {
    const { code, message, context } = error as Failure
    assert.equal(code, 'invalidInput')
    return context.field === undefined ? message : `${context.field} | ${message}`
  }
}

describe('a query parameter', () => {
  const rows: readonly [name: string, schema: z.ZodType, given: unknown, expected: unknown][] = [
    ['is present when empty', presence, '', true],
    ['is present when false', presence, 'false', true],
    ['is present when repeated', presence, ['', ''], true],
    ['is absent when undefined', presence, undefined, false],
    ['accepts a count', positiveCount, '17', 17],
    ['accepts a large count', positiveCount, '999999999', 999_999_999],
  ]
  for (const [name, schema, given, expected] of rows)
    it(name, () => assert.deepEqual(parsed(schema, given), expected))

  for (const given of ['0', '-1', '01', '1.0', '1e3', ' 1', '', '1000000000', 'x', '٣', ['1', '2'], 3]) {
    it(`rejects the count [${given}]`, () => {
      const message = parsed(z.object({ count: positiveCount }), { count: given })
      assert.match(
        String(message),
        /^count \| Invalid value \[.*\] for \[count\]: expected (an integer from 1 to 999999999|a single string)$/,
      )
    })
  }

  it('accepts an interval', () => {
    assert.deepEqual(parsed(intervalParameter, '2026-01-01/P1D'), {
      start: Date.UTC(2026, 0, 1),
      end: Date.UTC(2026, 0, 2),
    })
    assert.match(String(parsed(intervalParameter, 'tomorrow')), /tomorrow/)
    assert.match(String(parsed(intervalParameter, ['a', 'b'])), /expected a single string$/)
  })
})

describe('a JSON value', () => {
  const schema = z.strictObject({
    name: z.string(),
    kind: z.enum(['a', 'b']).optional(),
    list: z.array(z.strictObject({ n: z.int().min(1).max(5) })).optional(),
  })

  it('is parsed by the schema', () => {
    assert.deepEqual(parsed(schema, { name: 'x', list: [{ n: 1 }] }), { name: 'x', list: [{ n: 1 }] })
  })

  const rows: readonly [given: unknown, expected: string][] = [
    [null, 'body | Invalid value [null] for [body]: expected an object'],
    ['text', 'body | Invalid value [text] for [body]: expected an object'],
    [[], 'body | Invalid value [[]] for [body]: expected an object'],
    [{}, 'name | Missing value for [name]: expected a string'],
    [{ name: 7 }, 'name | Invalid value [7] for [name]: expected a string'],
    [{ name: '', kind: 'c' }, 'kind | Invalid value [c] for [kind]: expected one of [a, b]'],
    [
      { name: '', list: [{ n: 1 }, { n: 0 }] },
      'list[1].n | Invalid value [0] for [list[1].n]: expected at least 1',
    ],
    [{ name: '', list: [{ n: 6 }] }, 'list[0].n | Invalid value [6] for [list[0].n]: expected at most 5'],
    [{ name: '', more: 1 }, 'more | Unknown field [more] with value [1]: expected one of [name, kind, list]'],
    [
      { name: '', list: [{ n: 1, m: 2 }] },
      'list[0].m | Unknown field [list[0].m] with value [2]: expected one of [n]',
    ],
    [
      JSON.parse('{"name":"","__proto__":{"kind":"c"}}'),
      '__proto__ | Unknown field [__proto__] with value [{"kind":"c"}]: expected one of [name, kind, list]',
    ],
  ]
  for (const [given, expected] of rows) {
    it(`${JSON.stringify(given)} is rejected with the field, the value, and what is expected`, () => {
      assert.equal(parsed(schema, given), expected)
    })
  }

  it('is rejected with several problems at once, but not too many', () => {
    const many = { name: 1, list: Array.from({ length: 20 }, () => ({ n: 9 })) }
    const message = String(parsed(schema, many))
    assert.equal(message.split('; ').filter((part) => part.includes('Invalid value')).length, 5)
    assert.match(message, /; and 16 more$/)
  })

  it('that is long or secret is not shown', () => {
    assert.ok(String(parsed(schema, { name: '', kind: 'x'.repeat(10_000) })).length < 300)
    const secret = String(parsed(z.object({ password: z.string().min(10) }), { password: 'hunter2' }, true))
    assert.equal(secret, 'password | Invalid value for [password]: expected at least 10 characters')
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
