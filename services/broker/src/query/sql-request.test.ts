import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { readNativeQuery } from './native-query.ts'
import { readSqlRequest } from './sql-request.ts'

test('accepts queryType [sql] only', () => {
  assert.equal(readSqlRequest({ queryType: 'sql', query: 'SELECT 1' }, '').query, 'SELECT 1')
  assert.throws(() => readSqlRequest({ queryType: 'scan', query: 'SELECT 1' }, ''), {
    code: 'invalidInput',
    message: /^Invalid value \[scan\] for \[queryType\]: expected one of \[sql\]$/,
  })
})

describe('sqlOuterLimit', () => {
  for (const [sqlOuterLimit, expected] of [
    [undefined, undefined],
    [-1, undefined],
    [0, 0],
    [1001, 1001],
  ] as const) {
    it(`[${sqlOuterLimit}] sets the outer limit to [${expected}]`, () => {
      const { context } = readSqlRequest({ query: 'SELECT 1', context: { sqlOuterLimit } }, '')
      assert.equal(context.outerLimit, expected)
    })
  }
  it('must be an integer', () => {
    for (const sqlOuterLimit of [1.5, '7', true]) {
      assert.throws(() => readSqlRequest({ query: 'SELECT 1', context: { sqlOuterLimit } }, ''), {
        code: 'invalidInput',
        message: /^Invalid value .* for \[context\.sqlOuterLimit\]: expected an integer$/,
      })
    }
  })
})

describe('the text of a statement', () => {
  for (const query of ['SELECT \u0000', 'SELECT 1 AS "a\ud800b"'])
    it(`is refused with a character that no name may contain: ${JSON.stringify(query)}`, () => {
      assert.throws(() => readSqlRequest({ query }, ''), {
        code: 'invalidInput',
        message: /expected a string without the character U\+0000 and without unpaired surrogates$/,
      })
    })
})

describe('the id of a query', () => {
  const sql = (context: object) => readSqlRequest({ query: 'SELECT 1', context }, '')
  const scan = (context: object) => readNativeQuery({ queryType: 'scan', dataSource: 'wiki', context }, '')
  const requests = [
    ['sqlQueryId', sql],
    ['queryId', sql],
    ['sqlQueryId', scan],
    ['queryId', scan],
  ] as const
  for (const [field, parse] of requests) {
    it(`may be any string, as ${field} of a ${parse === sql ? 'statement' : 'native query'}`, () => {
      const id = 'é 𝒳 \u0000\n%'
      assert.equal(parse({ [field]: id }).context.queryId, id)
    })
    it(`must not have unpaired surrogates, as ${field} of a ${parse === sql ? 'statement' : 'native query'}`, () => {
      for (const id of ['\ud800', 'a\udc00b', '\udc00\ud800']) {
        assert.throws(() => parse({ [field]: id }), {
          code: 'invalidInput',
          message: new RegExp(
            `^Invalid value .* for \\[context\\.${field}\\]: expected a string without unpaired surrogates$`,
          ),
        })
      }
    })
    it(`must have at most 200 characters, as ${field} of a ${parse === sql ? 'statement' : 'native query'}`, () => {
      assert.throws(() => parse({ [field]: 'x'.repeat(201) }), {
        code: 'invalidInput',
        message: new RegExp(
          `^Invalid value .* for \\[context\\.${field}\\]: expected a string of at most 200 characters$`,
        ),
      })
    })
  }
})
